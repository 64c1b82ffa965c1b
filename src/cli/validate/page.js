/* SPDX-License-Identifier: GPL-3.0-or-later
 * The page of a validation (validate.h): reads the data from the script element "validation" and fills <main id="page">.
 * #en or #fa in the address chooses the language. Messages of the program are in English in either. */
'use strict';
(() => {
  const {make} = mxChart;
  const D = JSON.parse(document.getElementById('validation').textContent), R = D.report;
  let L, say;

  const values = number => (R.checks.find(c => c.number === number) || {values: {}}).values;
  const latin = text => make('bdi', {dir: 'ltr', lang: 'en'}, text);

  function head() {
    const state = R.failed > 0 ? 'bad' : R.warnings > 0 ? 'now' : null;
    const words = R.failed > 0 ? say('failed', L.number(R.failed), L.number(R.total)) : say(R.warnings > 0 ? 'warned' : 'passed');
    return make(
        'header', {},
        make('a', {id: 'language', href: L.persian ? '#en' : '#fa', lang: L.persian ? 'en' : 'fa'}, L.persian ? 'English' : say('language')),
        make('h1', {}, 'MyXTTS · ' + say('title') + ' ', make('span', {class: 'badge ' + (state || '')}, words)),
        make('p', {class: 'soft'}, say('send') + ' ' + say('private')));
  }

  function section(id, title, hint, ...content) {
    return make(
        'section', {id}, make('h2', {}, title), hint ? make('p', {class: 'hint'}, hint) : null, ...content);
  }

  function facts() {
    const M = R.machine;
    const rows = [
      [say('f_mode'), latin(R.mode)], [say('f_program'), latin('myxtts ' + M.program)], [say('f_system'), latin(M.system)],
      [say('f_processor'), latin(M.processor)], [say('f_cores'), L.number(M.cores)], [say('f_memory'), L.bytes(M.memory_bytes)],
      ...M.devices.map(d => [
        say('f_device', d.device),
        [latin(d.name), ', ', L.bytes(d.memory_bytes), d.driver ? [make('br'), say('f_driver', d.driver)] : null].flat(),
      ]),
      [say('f_written'), L.date(R.written)],
    ];
    return section(
        'machine', say('machine'), null,
        make('dl', {class: 'facts'}, rows.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))));
  }

  function line(item) {
    return make(
        'li', {class: item.status}, item.text, item.hint ? make('span', {class: 'soft'}, 'hint: ' + item.hint) : null);
  }
  const list = items => make('ul', {class: 'lines', dir: 'ltr', lang: 'en'}, items.map(line));

  function warnings() {
    const found = R.checks.flatMap(c => c.lines.filter(l => l.status === 'warning' || l.status === 'fail'));
    return found.length ? section('warnings', say('warnings'), null, list(found)) : null;
  }

  function checks() {
    const badge = {fail: 'bad', warning: 'now', skipped: 'plain'};
    return section(
        'checks', say('checks'), null,
        ...R.checks.map(
            c => make(
                'div', {class: 'check'},
                make(
                    'h3', {}, L.number(c.number) + '. ' + say('check ' + c.number),
                    make('span', {class: 'badge ' + (badge[c.status] || '')}, say('status ' + c.status)),
                    make('span', {class: 'soft'}, L.seconds(c.seconds))),
                list(c.lines))));
  }

  function table(columns, rows) {
    const cell = x => x instanceof Node ? make('td', {}, x) : make('td', {class: 'number'}, x);
    return make(
        'div', {class: 'scroll'},
        make(
            'table', {}, make('thead', {}, make('tr', {}, columns.map(c => make('th', {}, c)))),
            make('tbody', {}, rows.map(row => make('tr', {}, row.map(cell))))));
  }

  function rates() {
    const all = [...(values(4).directions || []), ...(values(8).directions || [])];
    return all.length === 0 ? null : section(
                                          'rates', say('rates'), null,
                                          table(
                                              ['r_from', 'r_to', 'r_rate', 'r_latency'].map(key => say(key)),
                                              all.map(d => [latin(d.from), latin(d.to), L.number(d.bandwidth_gb_s, 2), L.number(d.latency_us, 1)])));
  }

  function training() {
    const modes = values(9).modes || [];
    const share = x => x === undefined || x === null ? '–' : L.percent(x);
    return modes.length === 0 ?
        null :
        section(
            'training', say('training'), null,
            table(
                ['t_mode', 't_step', 't_range', 't_frames', 't_data', 't_model', 't_wait'].map(key => say(key)),
                modes.map(m => [
                  say('mode ' + m.name), L.ms(m.step_ms), L.number(m.least_ms, 1) + ' – ' + L.number(m.most_ms, 1),
                  L.number(m.frames_per_s), share(m.data_busy), share(m.model_busy), share(m.model_waits),
                ])));
  }

  function operations(device) {
    const bar = x => make(
        'span', {class: 'share'},
        make('span', {class: 'track' + (x > 1 ? ' over' : '')}, make('i', {style: `width: ${Math.min(100, 100 * (x ?? 1))}%`})),
        x === null ? '∞' : L.percent(x, x < 0.1 ? 1 : 0));
    const shapes = o => make('details', {}, make('summary', {}, L.number(o.cases)), o.shapes.map(s => make('code', {}, s)));
    const sorted = [...device.operations].sort((a, b) => (b.share ?? Infinity) - (a.share ?? Infinity));
    return section(
        'operations-' + device.device, say('operations', device.logical), say('operations_hint'),
        table(
            ['o_name', 'o_share', 'o_output', 'o_bound', 'o_ms', 'o_shapes'].map(key => say(key)),
            sorted.map(o => [make('code', {}, o.name), bar(o.share), make('code', {}, o.output), L.brief(o.bound), L.ms(o.ms), shapes(o)])));
  }

  function draw() {
    const asked = location.hash.slice(1), code = D.words[asked] ? asked : D.language;
    L = mxLanguage(code, D.words[code]);
    say = L.say;
    Object.assign(document.documentElement, {lang: code, dir: L.persian ? 'rtl' : 'ltr'});
    document.title = 'MyXTTS · ' + say('title');
    const parts = [
      head(), facts(), warnings(), checks(), rates(), training(), ...(values(7).devices || []).map(operations),
      make('footer', {}, say('footer', R.machine.program, L.date(R.written))),
    ];
    document.getElementById('page').replaceChildren(...parts.filter(part => part !== null));
  }

  draw();
  addEventListener('hashchange', draw);
})();
