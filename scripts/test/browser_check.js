/* SPDX-License-Identifier: GPL-3.0-or-later
 * Checks of the page of a run in a browser, see browser.py: returns a list of complaints. */
(async () => {
  const wrong = [], all = selector => [...document.querySelectorAll(selector)];
  const must = (good, what) => { if (!good) wrong.push(what); };
  const data = JSON.parse(document.getElementById('run').textContent);
  must(document.title === data.name + ' · MyXTTS', 'the title');
  must(document.getElementById('head').textContent.includes(data.name), 'the name of the run is missing');
  must(document.documentElement.dir === (data.language === 'fa' ? 'rtl' : 'ltr'), 'the direction of reading');
  must(document.documentElement.scrollWidth <= view.width, 'the page is wider than the screen: ' + document.documentElement.scrollWidth);
  for (const id of ['loss', 'speech', 'rate', 'speed', 'devices', 'memory', 'advice', 'sounds', 'pictures', 'facts', 'resume'])
    must(document.getElementById(id) && !document.getElementById(id).hidden, 'no section ' + id);
  for (const id of ['loss', 'speech', 'rate', 'speed', 'devices', 'memory'])
    must(all('#' + id + ' .curve').length > 0, 'no curve in ' + id);
  for (const curve of all('.curve')) must(curve.getAttribute('d').length > 8 && !/NaN|undefined|Infinity/.test(curve.getAttribute('d')), 'a curve is broken');
  must(all('#devices .block').length > 3, 'no close look at the stages');
  must(!/undefined|NaN|null|\[object|\{0\}/.test(document.body.innerText), 'a value is missing: ' + (document.body.innerText.match(/.*(undefined|NaN|null|\[object|\{0\}).*/) || [''])[0]);
  if (data.language === 'fa') must(/[۰-۹]/.test(document.getElementById('head').innerText), 'no Persian digits');
  for (const advice of all('#advice .said-so')) must(/[آ-ی]/.test(advice.textContent) === (data.language === 'fa'), 'advice in another language: ' + advice.textContent);
  /* The words of a chart must be inside the chart and must not overlap. */
  for (const svg of all('.chart svg')) {
    const frame = svg.getBoundingClientRect(), boxes = [...svg.querySelectorAll('text')].map(t => ({text: t.textContent, box: t.getBoundingClientRect()}));
    for (const a of boxes) must(a.box.left >= frame.left - 1 && a.box.right <= frame.right + 1, 'cut off: ' + a.text);
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => must(a.box.right <= b.box.left || b.box.right <= a.box.left || a.box.bottom <= b.box.top + 2 || b.box.bottom <= a.box.top + 2, 'over each other: ' + a.text + ' and ' + b.text)));
  }
  document.getElementById('log').click();
  must(document.getElementById('log').getAttribute('aria-pressed') === 'true', 'the logarithmic scale');
  must(all('#loss .curve').every(c => !/NaN/.test(c.getAttribute('d'))), 'a logarithmic curve is broken');
  document.getElementById('log').click();
  for (const image of all('img')) {
    await image.decode().catch(() => wrong.push('a picture cannot be decoded'));
    must(image.naturalWidth > 10, 'an empty picture');
  }
  const sounds = all('audio');
  must(sounds.length > 0, 'nothing to hear');
  for (const sound of sounds) {
    await sound.play().catch(error => wrong.push('a sound cannot be played: ' + error.message));
    must(sound.duration > 0.1 && sound.error === null, 'a sound has no length');
    sound.pause();
    sound.currentTime = 0;
  }
  /* Ticks of one axis differ from each other. */
  for (const svg of all('.chart svg')) {
    const left = [...svg.querySelectorAll('text[text-anchor=end]')].filter(t => Number(t.getAttribute('y')) < svg.getAttribute('height') - 6).map(t => t.textContent);
    must(new Set(left).size === left.length, 'ticks repeat: ' + left.join(', '));
  }
  /* Listening first, then the losses, then the machines; and no section stands alone in half of a row. */
  const order = all('section').map(section => section.id);
  must(['sounds', 'loss', 'pictures', 'devices', 'memory'].every((id, i, ids) => i === 0 || order.indexOf(ids[i - 1]) < order.indexOf(id)), 'the order: ' + order);
  if (view.width >= 900) {
    const page = document.getElementById('page').getBoundingClientRect(), rows = {};
    for (const section of all('section').filter(section => !section.hidden)) {
      const box = section.getBoundingClientRect();
      rows[Math.round(box.top)] = (rows[Math.round(box.top)] || 0) + box.width;
    }
    for (const [top, width] of Object.entries(rows)) must(width > 0.85 * page.width, 'an empty half row at ' + top);
  }
  /* The other language, and back. */
  const own = document.documentElement.lang, moment = () => new Promise(done => setTimeout(done, 300)), heading = document.querySelector('#loss h2').textContent;
  document.getElementById('language').click();
  await moment();
  must(document.documentElement.lang !== own && document.querySelector('#loss h2').textContent !== heading, 'the language does not change');
  document.getElementById('language').click();
  await moment();
  must(document.documentElement.lang === own && document.querySelector('#loss h2').textContent === heading, 'the language does not change back');
  const before = all('#loss .curve')[0].getAttribute('d'), last = data.series.step[data.series.step.length - 1];
  mxPage.add(JSON.stringify({step: last + 10, loss: 0.5, mel: 0.1, lr: 1e-4, grad_norm: 1, step_ms: 10, frames_per_s: 1000, skipped: false}));
  await new Promise(done => setTimeout(done, 700));
  must(all('#loss .curve')[0].getAttribute('d') !== before, 'a new step changes nothing');
  return wrong;
})()
