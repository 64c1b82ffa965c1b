/* SPDX-License-Identifier: GPL-3.0-or-later
 * Checks of the page of `myxtts check --html`, see browser.py: looks, listens, filters, decides with the mouse and the
 * keyboard, and saves; returns a list of complaints. The views are opened one after the other in one browser: what the first
 * one decides, the others must remember. Rows 0, 1 and 2 are dropped, fixed and kept. */
(async () => {
  const wrong = [], must = (good, what) => { if (!good) wrong.push(what); };
  const by = id => document.getElementById(id), page = mxDoctor, D = page.data, rows = D.rows;
  const until = async (good, what) => {
    for (let i = 0; i < 200 && !good(); i++) await new Promise(done => setTimeout(done, 50));
    must(good(), what);
  };
  const article = n => by('row-' + rows[n].number), radio = (n, value) => article(n).querySelector(`input[value="${value}"]`);
  const press = (code, key) => (document.activeElement || document.body)
                                   .dispatchEvent(new KeyboardEvent('keydown', {code, key: key || code, bubbles: true}));
  const persian = document.documentElement.lang === 'fa';
  const first = view.name === 'phone';

  /* ---- the page ---- */
  must(document.documentElement.dir === (persian ? 'rtl' : 'ltr'), 'the direction of reading');
  must(persian === /[آ-ی]/.test(by('save').textContent), 'the language of the page');
  must(rows.length >= 3 && document.querySelectorAll('article').length === rows.length, 'a row is missing');
  must(document.documentElement.scrollWidth <= view.width, 'the page is wider than the screen: ' + document.documentElement.scrollWidth);
  must(!/undefined|NaN|null|\[object|\{[0-9]\}/.test(document.body.innerText), 'a value is missing');
  must(document.querySelectorAll('article img, article script, article b').length === 0, 'a text became markup');
  must(rows.some(row => row.text.includes('</script>')), 'no text tries to be markup');
  must(rows.every((row, i) => article(i).querySelector('blockquote').textContent === row.text), 'a text is changed');
  if (persian) must(!/[0-9]/.test(by('head').innerText.replace(/[A-Za-z].*/, '')), 'Latin digits in the head');
  must(rows.every((row, i) => i === 0 || row.badness <= rows[i - 1].badness), 'the worst row is not the first');
  for (const id of ['kinds', 'people', 'coverage', 'record']) must(by(id), 'no section ' + id);

  /* ---- pictures and sounds ---- */
  for (const [i, row] of rows.entries()) {
    for (const canvas of article(i).querySelectorAll('canvas')) {
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      must(new Set(data).size > 3, `row ${i}: an empty ${canvas.className}`);
    }
    must(row.words.every(w => w[1] <= w[2] + 1e-3 && w[1] >= -1e-3 && w[2] <= row.seconds + 0.05), `row ${i}: words outside of the sound`);
  }
  if (D.voice) must(rows.some((row, i) => row.words.length > 0 && article(i).querySelectorAll('.word').length === row.words.length), 'no words are drawn');
  const audio = article(0).querySelector('audio');
  audio.preload = 'auto';
  audio.load();
  await until(() => audio.duration > 0, 'the sound cannot be read');
  must(Math.abs(audio.duration - rows[0].seconds) < 0.2, `the sound has ${audio.duration} s instead of ${rows[0].seconds}`);
  article(0).querySelector('.strip > div').click(); /* at its left end: plays from there */
  await until(() => audio.currentTime > 0.05, 'the sound does not play');
  audio.pause();

  /* ---- decisions ---- */
  if (first) {
    must(rows.every((row, i) => radio(i, '').checked), 'something is decided at the beginning');
    press('KeyJ');
    must(document.activeElement === article(0), 'J does not go to the first row');
    press('Digit2');
    must(radio(0, 'drop').checked && article(0).classList.contains('dropped'), '2 does not drop');
    press('KeyJ');
    press('Digit3');
    const text = article(1).querySelector('textarea');
    must(radio(1, 'fix').checked && document.activeElement === text, '3 does not go to the text');
    press('Digit2');
    must(radio(1, 'fix').checked, 'what is typed is taken for a decision');
    text.value = ' ';
    text.dispatchEvent(new Event('input'));
    must(!page.file().includes('\tfix\t'), 'a fix without a text is saved: the program would refuse the file');
    text.value = persian ? 'این متنِ\tدرست است.' : 'This is\tthe right </script> text.';
    text.dispatchEvent(new Event('input'));
    const note = article(1).querySelector('input[type=text]');
    note.value = 'heard twice';
    note.dispatchEvent(new Event('input'));
    press('Escape');
    press('KeyJ');
    must(document.activeElement === article(2), 'the keyboard does not leave the text');
    radio(2, 'keep').click();
  }
  must(radio(0, 'drop').checked && radio(1, 'fix').checked && radio(2, 'keep').checked, 'a decision is forgotten');
  const lines = page.file().split('\n');
  must(lines[0] === 'id\tdecision\ttext\tnote' && lines.length === 5 && lines[4] === '', 'an odd file: ' + page.file());
  must(lines[1] === rows[0].id + '\tdrop\t\t', 'a drop: ' + lines[1]);
  must(lines[2] === rows[1].id + '\tfix\t' + (persian ? 'این متنِ درست است.' : 'This is the right </script> text.') + '\theard twice', 'a fix: ' + lines[2]);
  must(lines[3] === rows[2].id + '\tkeep\t\t', 'a keep: ' + lines[3]);
  must(/[3۳]/.test(by('decided').textContent), 'decisions are not counted');

  /* ---- filters ---- */
  const choose = (name, value) => {
    by('filter-' + name).value = value;
    by('filter-' + name).dispatchEvent(new Event('change'));
    return rows.filter((row, i) => !article(i).hidden);
  };
  must(choose('state', 'done').length === 3 && choose('state', 'open').length === rows.length - 3, 'the filter of decisions');
  must(choose('state', '').length === rows.length, 'no filter');
  const kind = rows[0].findings[0].kind, same = choose('kind', kind);
  must(same.length > 0 && same.every(row => row.findings.some(f => f.kind === kind)), 'the filter of findings');
  choose('kind', '');
  const speakers = new Set(rows.map(row => row.speaker));
  if (speakers.size > 1) must(choose('speaker', rows[0].speaker).every(row => row.speaker === rows[0].speaker), 'the filter of speakers');
  if (speakers.size > 1) choose('speaker', '');

  if (view.name === 'desktop') by('save').click(); /* browser.sh gives the file to the program */
  return wrong;
})()
