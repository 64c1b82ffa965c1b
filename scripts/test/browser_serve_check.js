/* SPDX-License-Identifier: GPL-3.0-or-later
 * Checks of the page of `myxtts serve`, see browser.py: types, listens while it is spoken, stops, downloads; returns a list
 * of complaints. */
(async () => {
  const wrong = [], must = (good, what) => { if (!good) wrong.push(what); };
  const by = id => document.getElementById(id), page = window.mxSpeak;
  const until = async (good, what) => {
    for (let i = 0; i < 600 && !good(); i++) await new Promise(done => setTimeout(done, 50));
    must(good(), what + ': ' + by('said').textContent);
  };
  const persian = document.documentElement.lang === 'fa';
  must(document.documentElement.dir === (persian ? 'rtl' : 'ltr'), 'the direction of reading');
  must(persian === /[آ-ی]/.test(by('listen').textContent), 'the language of the page');
  await until(() => by('voice').options.length > 0, 'no voices');
  must(by('asking').hidden, 'it asks for a token that it has');
  const fits = () => must(document.documentElement.scrollWidth <= view.width, 'the page is wider than the screen: ' + document.documentElement.scrollWidth);
  fits();
  const frame = document.querySelector('main').getBoundingClientRect();
  must(Math.abs(frame.left - (view.width - frame.right)) <= 1, 'the page is not in the middle: ' + frame.left + ' to ' + frame.right);

  /* Listen: sound comes in parts, and is not silence. */
  by('text').value = 'Good morning. This is a test of the page. It is spoken sentence by sentence.';
  by('speed').value = '2';
  by('speed').dispatchEvent(new Event('input'));
  by('listen').click();
  await until(() => page.state === 'speaking' || page.state === 'received', 'it does not speak');
  await until(() => page.state === 'received' || page.state === 'done', 'it does not finish');
  must(page.samples > 4000 && page.firstMs > 0, 'little was heard: ' + JSON.stringify(page));
  must(page.peak > 0.001 && page.peak <= 1, 'silence, or too loud: ' + page.peak);
  await until(() => page.state === 'done' && !by('listen').disabled, 'it does not come to its end');
  must(/[0-9۰-۹]/.test(by('said').textContent), 'it does not say what was spoken');
  if (persian) must(/[۰-۹]/.test(by('said').textContent), 'no Persian digits');
  fits();

  /* Stop: a long text ends at once. */
  by('text').value = 'This sentence is said again and again. '.repeat(60);
  by('listen').click();
  await until(() => page.state === 'speaking' && page.parts > 1, 'the long text does not come in parts');
  by('stop').click();
  must(page.state === 'stopped' && !by('listen').disabled && by('stop').disabled, 'it does not stop');
  const heard = page.samples;
  await new Promise(done => setTimeout(done, 300));
  must(page.samples === heard, 'it goes on after the end');

  /* Download in each format, and what is typed wrong. */
  by('text').value = 'One sentence.';
  for (const format of by('format').options) {
    by('format').value = format.value;
    page.file = null;
    by('download').click();
    await until(() => page.file && !by('download').disabled, 'no download as ' + format.value);
    must(page.file && page.file.bytes > 500 && page.file.name === 'speech.' + format.value && /^audio\//.test(page.file.type), 'an odd file: ' + JSON.stringify(page.file));
  }
  by('text').value = '  ';
  by('listen').click();
  must(by('said').className === 'bad' && page.state !== 'waiting', 'nothing is spoken without a complaint');
  must(!/undefined|NaN|null|\[object|\{0\}/.test(document.body.innerText), 'a value is missing');
  return wrong;
})()
