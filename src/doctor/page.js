/* SPDX-License-Identifier: GPL-3.0-or-later
 * The doctor's page (page.h): reads the data from the script element "doctor" and fills <main id="page">. Decisions are
 * kept by the browser as long as it allows, and saved as decisions.tsv (corpus/manifest/decisions.h) by a button. For tests,
 * mxDoctor.file() is what the button saves. */
'use strict';
const mxDoctor = (() => {
  const {make} = mxChart;
  const D = JSON.parse(document.getElementById('doctor').textContent);
  const L = mxLanguage(D.language, D.words), say = L.say;
  const KEPT = 'myxtts doctor ' + D.key;
  const filter = {kind: '', speaker: '', state: ''};
  const articles = new Map(); /* of the rows, by number, once they are shown */
  const changes = Object.create(null); /* decisions made here, by id, which may be any text */
  let current = -1;

  /* ---- decisions ---- */

  const found = new Map(D.decisions.map(d => [d.id, d])); /* those of the file that the check read */
  try {
    Object.assign(changes, JSON.parse(localStorage.getItem(KEPT)));
  } catch { /* the page works without a memory */
  }
  const decision = id => Object.hasOwn(changes, id) ? changes[id] : found.get(id);
  function decide(id, given) {
    changes[id] = given;
    try {
      localStorage.setItem(KEPT, JSON.stringify(changes));
    } catch { /* it stays in the page until that is closed */
    }
    count();
  }
  const field = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  /* To fix a row without a text is no decision yet: decisions.tsv may not have it. */
  const complete = d => Boolean(d && d.decision && (d.decision !== 'fix' || field(d.text)));
  const decided = row => complete(decision(row.id));

  /* Rows of the page in their order, after decisions about rows that are not on it. */
  function file() {
    const shown = new Set(D.rows.map(r => r.id));
    const all = [...D.decisions.filter(d => !shown.has(d.id)).map(d => d.id), ...shown];
    const lines = all.map(id => [id, decision(id)])
                      .filter(([, d]) => complete(d))
                      .map(([id, d]) => [id, d.decision, d.decision === 'fix' ? d.text : '', d.note].map(field).join('\t'));
    return ['id\tdecision\ttext\tnote', ...lines, ''].join('\n');
  }
  function download(name, type, text) {
    const link = make('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  /* ---- which rows are shown ---- */

  const fits = row => (filter.kind === '' || row.findings.some(f => f.kind === filter.kind)) &&
      (filter.speaker === '' || row.speaker === filter.speaker) &&
      (filter.state === '' || (filter.state === 'open') !== decided(row));
  const shown = () => D.rows.filter(row => !articles.get(row.number).hidden);
  function choose() {
    for (const row of D.rows) articles.get(row.number).hidden = !fits(row);
    document.getElementById('nothing').hidden = shown().length > 0;
    count();
  }
  function count() {
    const box = document.getElementById('decided');
    if (box) /* there are rows */
      box.textContent = say('decided', L.number(D.rows.filter(decided).length), L.number(D.rows.length), L.number(shown().length));
  }

  /* ---- the keyboard ---- */

  function step(by) {
    const rows = shown(), at = rows.findIndex(row => row.number === current);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next) articles.get(next.number).focus();
  }
  function pause(but) {
    for (const article of articles.values())
      if (article.mxAudio && article.mxAudio !== but) article.mxAudio.pause();
  }
  const KEYS = {
    KeyJ: () => step(1),
    KeyK: () => step(-1),
    KeyP: article => {
      const audio = article && article.mxAudio;
      if (!audio) return;
      if (audio.paused)
        audio.play().catch(() => {});
      else
        audio.pause();
    },
    Digit0: article => article && article.mxChoose(''),
    Digit1: article => article && article.mxChoose('keep'),
    Digit2: article => article && article.mxChoose('drop'),
    Digit3: article => article && article.mxChoose('fix'),
  };
  function key(event) {
    const typing = event.target.matches('textarea, input[type=text], select');
    if (event.key === 'Escape' && typing && articles.has(current)) articles.get(current).focus();
    if (typing || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(KEYS, event.code)) return;
    KEYS[event.code](articles.get(current));
    event.preventDefault();
  }

  /* ---- sections ---- */

  function title(id, words, hint) {
    return make('section', {id, class: 'wide'}, make('h2', {}, words), hint ? make('p', {class: 'hint'}, hint) : null);
  }
  function table(columns, rows) {
    return make(
        'div', {class: 'scroll'},
        make(
            'table', {}, make('thead', {}, make('tr', {}, columns.map(c => make('th', {scope: 'col'}, c)))),
            make(
                'tbody', {},
                rows.map(
                    row => make(
                        'tr', {},
                        row.map(
                            cell => typeof cell === 'number' ? make('td', {class: 'number'}, L.number(cell)) :
                                                               make('td', {}, cell)))))));
  }
  const tile = (value, words) => make('div', {class: 'tile'}, make('b', {}, make('bdi', {}, value)), make('span', {}, words));

  function head() {
    const words = [say('rows', L.number(D.count)), L.time(D.seconds), D.voice ? say('by_voice', D.voice) : say('without_voice')];
    const tiles = [tile(L.number(D.suspects), say('tile_suspects')), tile(L.number(D.rejected), say('tile_rejected'))];
    for (const fact of D.sound) tiles.push(tile(L.number(fact.value, fact.digits), say('sound ' + fact.name)));
    return make(
        'header', {id: 'head', class: 'wide'}, make('h1', {}, make('bdi', {}, D.name)),
        make('div', {class: 'soft'}, words.join(say('comma'))),
        D.voice_note ? make('p', {class: 'hint'}, D.voice_note) : null, make('div', {class: 'tiles'}, tiles));
  }

  function select(name, options) {
    const list = make(
        'select', {
          id: 'filter-' + name,
          onchange: () => {
            filter[name] = list.value;
            choose();
          }
        },
        make('option', {value: ''}, say('all')), options.map(([value, words]) => make('option', {value}, words)));
    return options.length > 1 ? make('label', {}, say('filter ' + name), list) : null;
  }
  const saveButton = () => make(
      'button', {
        type: 'button',
        class: 'strong',
        id: 'save',
        onclick: () => download('decisions.tsv', 'text/tab-separated-values', file())
      },
      say('save'));
  function bar() {
    return make(
        'div', {id: 'bar', class: 'wide', role: 'toolbar'},
        select(
            'kind',
            D.kinds.filter(k => D.rows.some(r => r.findings.some(f => f.kind === k.name)))
                .map(k => [k.name, say('kind ' + k.name)])),
        select('speaker', [...new Set(D.rows.map(r => r.speaker))].map(s => [s, s])),
        select('state', [['open', say('state open')], ['done', say('state done')]]), make('span', {id: 'decided'}),
        saveButton());
  }

  function how() {
    const keys = [['J', 'next'], ['K', 'previous'], ['P', 'play'], ['1', 'keep'], ['2', 'drop'], ['3', 'fix'], ['0', 'open']];
    const box = title('how', say('how'), null);
    box.append(
        make('p', {}, say('how_decide')), make('p', {}, say('how_save'), ' ', make('code', {}, D.decisions_file)),
        make('p', {class: 'soft'}, keys.map(([sign, name]) => [make('kbd', {}, sign), ' ' + say('key ' + name) + '  ']).flat()));
    return box;
  }

  function rest() {
    if (D.suspects <= D.rows.length) return null;
    return make(
        'p', {id: 'rest', class: 'hint wide'}, say('rest', L.number(D.rows.length), L.number(D.suspects - D.rows.length)), ' ',
        make('code', {}, D.suspects_file));
  }
  function kinds() {
    const list = D.kinds.filter(k => k.rows > 0);
    if (list.length === 0) return null;
    const box = title('kinds', say('kinds'), null);
    box.append(table(
        [say('column_kind'), say('column_rows'), say('column_shown')],
        list.map(k => [say('kind ' + k.name), k.rows, D.rows.filter(r => r.findings.some(f => f.kind === k.name)).length])));
    return box;
  }
  function rejects() {
    if (D.rejected === 0) return null;
    const box = title('rejects', say('rejects'), null);
    box.append(
        table([say('column_reason'), say('column_rows')], D.reasons.map(r => [say('reject ' + r.name), r.rows])),
        make('p', {class: 'hint'}, make('code', {}, D.rejects_file)));
    return box;
  }
  /* Decisions about rows that are no suspects any more. */
  function settled() {
    const shown = new Set(D.rows.map(r => r.id)), list = D.decisions.filter(d => !shown.has(d.id));
    if (list.length === 0) return null;
    const box = title('settled', say('decisions'), say('decisions_hint'));
    const back = d => {
      const button = make(
          'button', {
            type: 'button',
            onclick: () => {
              const taken = decision(d.id).decision === '';
              decide(d.id, taken ? d : {decision: '', text: '', note: d.note});
              mark();
            }
          });
      const mark = () => {
        button.setAttribute('aria-pressed', String(decision(d.id).decision === ''));
        button.textContent = say(decision(d.id).decision === '' ? 'taken_back' : 'take_back');
      };
      mark();
      return button;
    };
    const own = text => make('bdi', {}, text);
    box.append(table(
        [say('column_id'), say('column_decision'), say('column_text'), say('column_note'), ''],
        list.map(d => [own(d.id), say('choice ' + d.decision), own(d.text), own(d.note), back(d)])));
    if (D.rows.length === 0) box.append(saveButton());
    return box;
  }
  function people() {
    const box = title('people', say('people'), null), pitched = D.speakers.some(s => s.pitch);
    box.append(table(
        [say('column_speaker'), say('column_rows'), say('column_minutes'), ...(pitched ? [say('column_pitch')] : [])],
        D.speakers.map(s => [
          make('bdi', {}, s.name), s.rows, make('bdi', {}, L.number(s.seconds / 60, 1)),
          ...(pitched ? [s.pitch ? say('pitch', ...s.pitch.map(hz => L.number(hz))) : '–'] : [])
        ])));
    return box;
  }
  function coverage() {
    if (D.coverage.length === 0) return null;
    const box = title('coverage', say('coverage'), say('coverage_hint'));
    const chips = list => make(
        'div', {class: 'sounds'},
        list.map(s => make('span', {lang: 'und', dir: 'ltr'}, s.name, make('small', {}, L.number(s.count)))));
    for (const c of D.coverage) {
      if (D.coverage.length > 1) box.append(make('h3', {}, c.language));
      box.append(
          make('p', {}, c.known ? say('coverage_counts', ...c.numbers.map(n => L.number(n))) : say('coverage_unknown')));
      if (c.sounds.length > 0) box.append(make('h3', {}, say('rare_sounds')), chips(c.sounds));
      if (c.pairs.length > 0) box.append(make('h3', {}, say('rare_pairs')), chips(c.pairs));
    }
    return box;
  }
  function record() {
    if (D.record.length === 0) return null;
    const box = title('record', say('record'), say('record_hint'));
    box.append(
        make(
            'ol', {},
            D.record.map(
                s => make(
                    'li', {}, make('bdi', {}, s.text), ' ',
                    make('span', {class: 'soft', dir: 'ltr', lang: 'und'}, s.fills.join(' '))))),
        make(
            'button', {
              type: 'button',
              id: 'save-record',
              onclick: () => download('record.txt', 'text/plain', D.record.map(s => s.text + '\n').join(''))
            },
            say('save_record')));
    return box;
  }

  const page = {
    language: L,
    words: D.words,
    speakers: D.speakers.length,
    decision,
    decide,
    fixed: id => found.has(id) && found.get(id).decision === 'fix' /* then the row's text is the fixed one */
  };

  function start() {
    const main = document.getElementById('page'), rows = make('div', {id: 'rows', class: 'wide'});
    document.title = D.name + ' · MyXTTS';
    for (const row of D.rows) {
      const article = mxDoctorRow(row, page);
      article.addEventListener('focusin', () => current = row.number);
      if (article.mxAudio) article.mxAudio.addEventListener('play', () => pause(article.mxAudio));
      articles.set(row.number, article);
      rows.append(article);
    }
    rows.append(make('p', {id: 'nothing', class: 'soft'}, say(D.rows.length > 0 ? 'nothing_fits' : 'nothing_found')));
    const parts = [
      head(), ...(D.rows.length > 0 ? [how(), bar()] : []), rows, rest(), kinds(), rejects(), settled(), people(), coverage(), record(),
      make('footer', {class: 'wide'}, say('footer', D.program, L.date(D.written)))
    ];
    main.append(...parts.filter(p => p !== null));
    if (D.rows.length > 0) choose();
    document.addEventListener('keydown', key);
  }
  start();
  return {file, decide, data: D};
})();
