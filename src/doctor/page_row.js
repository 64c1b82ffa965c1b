/* SPDX-License-Identifier: GPL-3.0-or-later
 * One row on the doctor's page (page.h): waveform and mel with the words drawn in, its sound, its findings, and the box in
 * which people decide. mxDoctorRow(row, page) returns its element; `page` has the language, the decisions and what to call
 * after one has changed. */
'use strict';
const mxDoctorRow = (() => {
  const {make} = mxChart;
  const SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const VALUE = new Uint8Array(128);
  for (let i = 0; i < 64; i++) VALUE[SIGNS.charCodeAt(i)] = i;
  const PIXELS_A_SECOND = 75, WAVE = 56, CLIPPED = 0.99;

  /* As base/format/canvas.c colours mel pictures. */
  const HEAT = [
    [0, 12, 47], [37, 18, 112], [114, 12, 116], [169, 27, 112], [212, 62, 104], [243, 104, 95], [254, 154, 102],
    [255, 201, 139], [255, 243, 207]
  ];
  function heat(value) {
    const at = value / 63 * (HEAT.length - 1), step = Math.min(HEAT.length - 2, Math.floor(at)), part = at - step;
    return HEAT[step].map((from, i) => from + part * (HEAT[step + 1][i] - from));
  }
  const PALETTE = Array.from({length: 64}, (_, i) => heat(i));

  /* One column of `bands` signs after the other, the lowest band first. */
  function drawMel(canvas, row) {
    const context = canvas.getContext('2d'), bands = row.bands, picture = context.createImageData(row.columns, bands);
    for (let x = 0; x < row.columns; x++)
      for (let band = 0; band < bands; band++) {
        const colour = PALETTE[VALUE[row.mel.charCodeAt(x * bands + band)]], at = 4 * ((bands - 1 - band) * row.columns + x);
        for (let i = 0; i < 3; i++) picture.data[at + i] = colour[i];
        picture.data[at + 3] = 255;
      }
    context.putImageData(picture, 0, 0);
  }

  /* Two signs a column, its lowest and its highest sample, as shares of the peak. What touches full scale is red. */
  function drawWave(canvas, row) {
    const context = canvas.getContext('2d'), middle = WAVE / 2;
    for (let x = 0; x < row.columns; x++) {
      const low = VALUE[row.wave.charCodeAt(2 * x)] / 31.5 - 1, high = VALUE[row.wave.charCodeAt(2 * x + 1)] / 31.5 - 1;
      context.fillStyle = row.peak >= CLIPPED && (low <= -0.99 || high >= 0.99) ? '#ff5a4d' : '#9fc3ff';
      context.fillRect(x, middle - high * (middle - 2), 1, Math.max(1, (high - low) * (middle - 2)));
    }
  }

  /* Words that are not heard have no time of their own: those at one place share a label. */
  function labels(words) {
    const out = [];
    for (const word of words) {
      const last = out[out.length - 1];
      if (last && !last[3] && !word[3] && Math.abs(last[1] - word[1]) < 0.01)
        last[0] += ' ' + word[0];
      else
        out.push([...word]);
    }
    return out;
  }

  /* Waveform and mel, what is not used dimmed, the words at their places. */
  function strip(row, L, audio) {
    const share = seconds => 100 * Math.min(1, Math.max(0, seconds / row.seconds)) + '%';
    const wave = make('canvas', {class: 'wave', width: row.columns, height: WAVE, 'aria-hidden': 'true'});
    const mel = make('canvas', {class: 'mel', width: row.columns, height: row.bands, 'aria-hidden': 'true'});
    const now = make('i', {class: 'now', hidden: true});
    const inner = make('div', {style: `width:${Math.round(row.seconds * PIXELS_A_SECOND)}px`}, wave, mel);
    const band = (kind, from, until) =>
        make('i', {class: kind, style: `left:${share(from)};width:${share(until - from)}`});
    if (row.used[0] > 0.01) inner.append(band('cut', 0, row.used[0]));
    if (row.seconds - row.used[1] > 0.01) inner.append(band('cut', row.used[1], row.seconds));
    for (const [from, until] of row.other) inner.append(band('other', from, until));
    labels(row.words).forEach(([text, from, until, heard], i, all) => {
      const back = !heard && from > 0.6 * row.seconds; /* the label goes from its place towards the middle */
      const kind = heard ? (i === all.length - 1 ? 'last' : '') : back ? 'unheard back' : 'unheard';
      const place = back ? `right:${share(row.seconds - from)}` : `left:${share(from)}`;
      const style = heard ? `${place};width:${share(until - from)}` : place;
      inner.append(make('span', {class: 'word ' + kind, title: text, style}, make('bdi', {}, text)));
    });
    inner.append(now);
    inner.onclick = event => {
      const box = inner.getBoundingClientRect();
      audio.currentTime = (event.clientX - box.left) / box.width * row.seconds;
      audio.play().catch(() => {});
    };
    let moving = false;
    const follow = () => {
      now.style.left = share(audio.currentTime);
      moving = !audio.paused;
      if (moving) requestAnimationFrame(follow);
    };
    audio.onplay = () => {
      now.hidden = false;
      if (!moving) follow();
    };
    audio.onseeked = () => {
      now.hidden = false;
      now.style.left = share(audio.currentTime);
    };
    drawWave(wave, row);
    drawMel(mel, row);
    return make('div', {class: 'strip', role: 'img', 'aria-label': L.say('picture')}, inner);
  }

  const CLASSES = {keep: 'kept', drop: 'dropped', fix: 'fixed'};

  /* Keep, drop, fix; the right text; a note. Any change goes to the page at once. */
  function box(row, page, article) {
    const L = page.language, choices = {};
    const text = make('textarea', {rows: 2, dir: 'auto', spellcheck: 'false', 'data-key': 'text'});
    const note = make('input', {type: 'text', dir: 'auto', 'data-key': 'note'});
    const show = () => {
      const given = page.decision(row.id) || {decision: '', text: '', note: ''};
      choices[given.decision].checked = true;
      text.value = given.decision === 'fix' ? given.text : row.text;
      note.value = given.note;
      article.classList.remove('kept', 'dropped', 'fixed');
      if (given.decision) article.classList.add(CLASSES[given.decision]);
    };
    const tell = () => {
      const chosen = Object.keys(choices).find(name => choices[name].checked) || '';
      page.decide(row.id, {decision: chosen, text: chosen === 'fix' ? text.value : '', note: note.value});
      article.classList.remove('kept', 'dropped', 'fixed');
      if (chosen) article.classList.add(CLASSES[chosen]);
    };
    const choice = name => {
      choices[name] = make('input', {type: 'radio', name: 'row-' + row.number, value: name, onchange: tell});
      return make('label', {class: name || 'open', title: L.say('help ' + (name || 'open'))}, choices[name], L.say('choice ' + (name || 'open')));
    };
    text.oninput = () => {
      choices[text.value === row.text && !page.fixed(row.id) ? '' : 'fix'].checked = true;
      tell();
    };
    note.oninput = tell;
    const element = make(
        'div', {class: 'box'},
        make('fieldset', {'aria-label': L.say('decision')}, ['', 'keep', 'drop', 'fix'].map(choice)),
        make('label', {}, L.say('right_text'), text), make('label', {}, L.say('note'), note));
    article.mxChoose = name => {
      choices[name].checked = true;
      tell();
      if (name === 'fix') text.focus();
    };
    show();
    return element;
  }

  /* The words of a finding; what comes from the corpus keeps its own direction. */
  function sentence(finding, page) {
    const L = page.language, values = [L.digits(finding.value), L.digits(finding.limit), finding.text];
    return page.words['finding ' + finding.kind].split(/\{(\d)\}/).map(
        (part, i) => i % 2 ? make('bdi', {}, values[Number(part)]) : part);
  }

  function facts(row, L) {
    const words = [L.seconds(row.seconds)];
    if (row.audio) words.push(L.say('peak', L.number(20 * Math.log10(Math.max(row.peak, 1e-5)), 1)));
    if (row.score !== null) words.push(L.say('score', L.number(row.score, 2)));
    return words.join(L.say('comma'));
  }

  return (row, page) => {
    const L = page.language;
    const article = make('article', {tabindex: '-1', id: 'row-' + row.number, 'aria-label': row.id});
    const audio = row.audio ? make('audio', {controls: true, preload: 'none', src: row.audio}) : null;
    article.append(
        make(
            'h2', {}, make('bdi', {}, row.id), page.speakers > 1 ? make('bdi', {class: 'soft'}, row.speaker) : null,
            make('span', {class: 'soft'}, facts(row, L))),
        make('blockquote', {dir: 'auto'}, row.text),
        make(
            'ul', {class: 'findings'},
            row.findings.map(
                f => make(
                    'li', {}, make('span', {class: 'kind'}, L.say('kind ' + f.kind)), make('span', {}, sentence(f, page))))));
    if (audio) article.append(strip(row, L, audio), audio);
    else article.append(make('p', {class: 'soft'}, L.say('no_sound')));
    article.append(box(row, page, article));
    article.mxAudio = audio;
    return article;
  };
})();
