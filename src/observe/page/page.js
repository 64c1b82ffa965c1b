/* SPDX-License-Identifier: GPL-3.0-or-later
 * The page of a run (page.h): reads the data from the script element "run", fills <main id="page"> section by section,
 * and on a live page follows the run. mxPage.add(record) takes a line of metrics.jsonl, mxPage.run(object) a run.json.
 */
'use strict';
const mxPage = (() => {
  const POINTS = 2400; /* of a live series before two become one */
  const COLOURS = ['var(--five)', 'var(--three)', 'var(--four)', 'var(--one)']; /* of the stages */
  const {make, good} = mxChart;
  let D = JSON.parse(document.getElementById('run').textContent);
  const live = document.documentElement.hasAttribute('data-live');
  let L, say, pending = 0, shownLoss = 'loss', logScale = false, shownPicture = -1;

  /* ---- questions to the data ---- */
  const S = key => D.series[key] || [];
  const steps = () => S('step').length;
  const last = key => {
    for (let i = S(key).length - 1; i >= 0; i--)
      if (good(S(key)[i])) return S(key)[i];
    return null;
  };
  const sum = key => S(key).reduce((a, b) => a + (b || 0), 0);
  const mean = (key, share) => {
    const values = S(key).slice(-Math.max(1, Math.round(share * S(key).length))).filter(good);
    return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  };
  const two = () => D.run ? D.run.devices.length === 2 : (last('arrived_limit') || 0) > 0;
  const total = () => Math.max(D.run ? D.run.steps : 0, last('steps') || 0);
  const now = () => Math.max(last('step') || 0, D.run ? D.run.step : 0);
  const state = () => D.run ? D.run.state : 'unknown';
  const metricsOf = chart => D.metrics.filter(m => m.chart === chart);
  const ruleOf = key => (D.metrics.find(m => m.key === key && m.rule) || {rule: 'mean'}).rule;

  /* ---- sections ---- */
  const sections = [];
  function section(id, wide, draw, once) { sections.push({id, wide, draw, once, box: null}); }
  function draw(part) {
    const shown = part.draw(part.box) !== false;
    part.box.hidden = !shown;
  }
  /* Narrow sections stand in pairs; one without a partner takes the whole row. True if a width has changed. */
  function layout() {
    let first = null, changed = false;
    const widen = (part, wide) => {
      if (part.box.classList.contains('wide') === wide) return;
      part.box.classList.toggle('wide', wide);
      changed = true;
    };
    for (const part of sections.filter(part => !part.box.hidden)) {
      if (!part.wide && first) {
        widen(first, false);
        widen(part, false);
        first = null;
        continue;
      }
      if (first) widen(first, true);
      first = part.wide ? null : part;
    }
    if (first) widen(first, true);
    return changed;
  }
  function title(box, key, hint) {
    box.replaceChildren(make('h2', {}, say(key)));
    if (hint) box.append(make('p', {class: 'hint'}, say(hint)));
  }
  function chartBox(box) {
    const c = make('div', {class: 'chart'});
    box.append(c);
    return c;
  }
  function curve(box, options) {
    mxChart.lines(
        chartBox(box),
        Object.assign(
            {format: L.brief, tick: options.format || L.tick, xformat: L.number, where: x => say('at_step', L.number(x))}, options));
  }
  /* One chart of all metrics that train/report/report.h gives it, in these colours and then in the others; `smooth`: about as
   * many values, smoothed, as can be distinguished. */
  function curves(box, chart, colours, smooth, options) {
    const all = [...new Set([...colours, 'one', 'two', 'three', 'four', 'five'])];
    curve(box, Object.assign(options, {
      lines: metricsOf(chart).filter(m => steps() === 0 || S(m.key).length > 0).map((m, i) => Object.assign({
        name: say(m.key),
        colour: `var(--${all[i % all.length]})`,
        x: S('step'),
        y: S(m.key)
      }, smooth ? {smooth: Math.max(1, steps() / smooth)} : {}))
    }));
  }

  function head(box) {
    const what = state(), badge = {done: '', training: 'now', failed: 'bad', unknown: 'plain'}[what];
    const done = now(), all = total(), seconds = S('step_ms').reduce((a, v) => a + (v || 0) * D.per, 0) / 1000;
    const speed = mean('step_ms', 0.2), limit = D.run && D.run.deadline ? D.run.deadline - last('time') : Infinity;
    const left = all > done && good(speed) ? Math.min((all - done) * speed / 1000, limit) : 0;
    const words = [say('of_steps', L.number(done), L.number(all || done))];
    if (last('epoch') !== null) words.push(say('epoch', L.number(last('epoch') + 1)));
    if (seconds > 0) words.push(say('took', L.time(seconds)));
    if (left > 0 && what !== 'done') words.push(say('left', L.time(left)));
    box.replaceChildren(
        make('a', {id: 'language', href: L.persian ? '#en' : '#fa', lang: L.persian ? 'en' : 'fa'}, say('language')),
        make(
            'h1', {}, make('bdi', {}, D.name), ' ',
            make(
                'span', {class: 'badge ' + (badge === undefined ? 'plain' : badge), id: 'state'}, say('state ' + what)),
            live ? [' ', make('span', {class: 'badge now', id: 'live'}, say('live'))] : null),
        make(
            'div', {class: 'track', role: 'progressbar', 'aria-valuenow': done, 'aria-valuemax': all},
            make('i', {style: `width:${all ? 100 * Math.min(1, done / all) : 0}%`})),
        make('div', {class: 'soft'}, words.join(say('comma'))),
        ...(!live && what === 'training' ? [make('p', {class: 'hint'}, say('unfinished'))] : []), tiles());
  }

  function tile(value, words) {
    return value === null ?
        null :
        make('div', {class: 'tile'}, make('b', {}, make('bdi', {}, value)), make('span', {}, words));
  }
  function tiles() {
    const flow = D.run && D.run.flow, evaluation = D.evaluations[D.evaluations.length - 1];
    const loss = S('loss').length ? mean('loss', 10 / S('loss').length) : null;
    const busy = last('model_busy'), data = last('data_busy'), wait = last('data_wait'),
          limit = last('model_limit_bytes');
    const logical = D.run && D.run.devices.length ? D.run.devices[D.run.devices.length - 1].logical : 'device 0';
    return make(
        'div', {class: 'tiles'}, tile(good(loss) ? L.brief(loss) : null, say('tile_loss')),
        tile(evaluation && evaluation.spoken ? L.number(evaluation.mel_db, 2) : null, say('tile_distance')),
        tile(good(mean('frames_per_s', 0.25)) ? L.number(mean('frames_per_s', 0.25)) : null, say('tile_speed')),
        tile(good(mean('step_ms', 0.25)) ? L.brief(60000 / mean('step_ms', 0.25)) : null, say('tile_steps')),
        two() ? tile(good(data) ? L.percent(flow && !live ? flow.data_busy : data) : null, say('tile_data')) : null,
        tile(
            good(busy) ? L.percent(flow && !live ? flow.model_busy : busy) : null,
            say(two() ? 'tile_model' : 'tile_device')),
        tile(good(wait) ? L.percent(flow && !live ? flow.data_wait : wait, 1) : null, say('tile_wait')),
        tile(limit > 0 ? L.percent(last('model_bytes') / limit) : null, say('tile_memory', logical)));
  }

  /* Listening first, then the losses, then the machines. */
  section('sounds', true, box => {
    if (D.sounds.length === 0) return false;
    title(box, 'sounds', 'sounds_hint');
    const told = (D.run && D.run.samples) || [];
    for (const number of [...new Set(D.sounds.map(s => s.number))].sort((a, b) => a - b)) {
      const text = told.find(t => t.number === number), real = D.recordings.find(r => r.number === number),
            mine = D.sounds.filter(s => s.number === number);
      const player = (name, sound) => make(
          'div', {}, make('div', {class: 'soft'}, name),
          make('audio', {controls: true, preload: 'metadata', src: sound.audio}));
      box.append(make(
          'div', {class: 'said'}, make('blockquote', {dir: 'auto'}, text ? text.text : '#' + number),
          make(
              'div', {class: 'pair'}, mine.slice().reverse().map(s => player(say('at_step', L.number(s.step)), s)),
              real && real.audio ? player(say('recording'), real) : null)));
    }
    return true;
  }, true);

  section('loss', true, box => {
    title(box, 'loss', 'loss_hint');
    const parts = ['loss', ...metricsOf('loss').map(m => m.key).filter(key => steps() === 0 || S(key).length > 0)];
    const row = make(
        'div', {class: 'row', role: 'group'},
        parts.map(
            key => make(
                'button', {
                  type: 'button',
                  'aria-pressed': String(key === shownLoss),
                  onclick: () => {
                    shownLoss = key;
                    draw(find('loss'));
                  }
                },
                say(key === 'loss' ? 'total' : key))),
        make(
            'button', {
              type: 'button',
              id: 'log',
              'aria-pressed': String(logScale),
              onclick: () => {
                logScale = !logScale;
                draw(find('loss'));
              }
            },
            say('log')));
    box.append(row);
    if (steps() === 0) {
      box.append(make('p', {class: 'soft'}, say('empty')));
      return;
    }
    curve(box, {
      title: say('loss'),
      log: logScale,
      height: 280,
      lines: [
        {
          name: say('train'),
          colour: 'var(--one)',
          x: S('step'),
          y: S(shownLoss),
          smooth: Math.max(1, S('step').length / 40)
        },
        {
          name: say('validation'),
          colour: 'var(--two)',
          x: D.evaluations.map(e => e.step),
          y: D.evaluations.map(e => e[shownLoss]),
          dots: true
        }
      ]
    });
  });

  section('speech', false, box => {
    const spoken = D.evaluations.filter(e => e.spoken > 0), x = spoken.map(e => e.step);
    if (spoken.length === 0) return false;
    title(box, 'speech', 'speech_hint');
    const colours = ['two', 'three', 'five', 'one', 'four'];
    metricsOf('spoken').forEach((m, i) => curve(box, Object.assign({
      height: 130,
      lines: [{
        name: say(m.key),
        colour: `var(--${colours[i % colours.length]})`,
        x,
        y: spoken.map(e => e[m.key]),
        dots: true
      }]
    }, m.percent ? {format: L.percent} : {})));
    return true;
  });

  section('rate', false, box => {
    if (steps() === 0) return false;
    title(box, 'rate');
    curves(box, 'rate', ['five'], 0, {height: 215, zero: true});
    curves(box, 'gradient', ['four'], 60, {height: 215, log: true});
    return true;
  });

  section('pictures', true, box => {
    if (D.pictures.length === 0) return false;
    title(box, 'pictures', 'pictures_hint');
    const at = shownPicture < 0 || shownPicture >= D.pictures.length ? D.pictures.length - 1 : shownPicture,
          p = D.pictures[at];
    if (D.pictures.length > 1)
      box.append(make(
          'div', {class: 'row'},
          D.pictures.map(
              (q, i) => make(
                  'button', {
                    type: 'button',
                    'aria-pressed': String(i === at),
                    onclick: () => {
                      shownPicture = i;
                      draw(find('pictures'));
                    }
                  },
                  say('at_step', L.number(q.step))))));
    box.append(make(
        'div', {class: 'pair'},
        ['target', 'prediction', 'difference', 'alignment'].filter(k => p[k]).map(
            k => make('figure', {}, make('figcaption', {}, say(k)), make('img', {src: p[k], alt: say(k)})))));
    return true;
  }, true);

  section('speed', true, box => {
    if (steps() === 0) return false;
    title(box, 'speed');
    const grid = make('div', {class: 'pair'}), a = make('div'), b = make('div');
    box.append(grid);
    grid.append(a, b);
    curves(a, 'speed', ['three'], 40, {height: 180, zero: true});
    curves(b, 'time', ['one', 'two'], 40, {height: 180, zero: true});
    return true;
  });

  function deviceChart(box, name, layers) {
    box.append(make('h3', {}, name));
    mxChart.shares(chartBox(box), {
      x: S('step'),
      height: 120,
      format: L.percent,
      xformat: L.number,
      where: x => say('at_step', L.number(x)),
      layers
    });
  }
  const nameOf = role => {
    const d = D.run && D.run.devices.find(d => d.role === role || d.role === 'both');
    return d ? ' · ' + d.logical + ' · ' + d.name : '';
  };
  section('devices', true, box => {
    if (S('model_busy').length === 0) return false;
    title(box, two() ? 'devices' : 'device', 'devices_hint');
    const zip = (f, ...keys) => S('step').map((_, i) => f(...keys.map(k => S(k)[i] || 0)));
    if (two())
      deviceChart(box, say('data_device') + nameOf('data'), [
        {name: say('working'), colour: 'var(--three)', y: zip((b, t) => Math.max(0, b - t), 'data_busy', 'transfer')},
        {name: say('transferring'), colour: 'var(--four)', y: zip(t => t, 'transfer')},
        {name: say('waiting'), colour: 'var(--idle)', y: zip((b, t) => 1 - Math.max(b, t), 'data_busy', 'transfer')}
      ]);
    deviceChart(box, say(two() ? 'model_device' : 'one_device') + nameOf('model'), [
      {name: say(two() ? 'training' : 'busy'), colour: 'var(--one)', y: zip(b => b, 'model_busy')},
      {name: say('for_data'), colour: 'var(--two)', y: zip((b, w) => Math.min(w, 1 - b), 'model_busy', 'data_wait')}, {
        name: say('other'),
        colour: 'var(--idle)',
        y: zip((b, w) => 1 - b - Math.min(w, 1 - b), 'model_busy', 'data_wait')
      }
    ]);
    closeup(box);
    const flow = D.run && D.run.flow;
    if (two() && flow && flow.transfer > 0 && good(flow.transfer_overlap))
      box.append(make('p', {class: 'hint'}, say('hidden', L.percent(flow.transfer_overlap))));
    return true;
  });

  /* The newest spans: one row for each stage that has any. */
  function closeup(box) {
    const all = (D.run && D.run.spans) || [], train = all.filter(s => s[0] === 3);
    if (train.length < 2) return;
    const begin = train[Math.max(0, train.length - 10)][3], end = Math.max(...all.map(s => s[4]));
    const rows =
        [0, 1, 2, 3]
            .map(stage => ({
                   name: say('stage_' + stage),
                   blocks: all.filter(s => s[0] === stage && s[4] > begin)
                               .map(s => ({
                                      from: Math.max(0, s[3] - begin) / 1000,
                                      to: (s[4] - begin) / 1000,
                                      colour: COLOURS[stage],
                                      pale: stage === 0,
                                      title: `${say('stage_' + stage)} ${L.number(s[2])}: ${L.ms((s[4] - s[3]) / 1000)}`
                                    }))
                 }))
            .filter(r => r.blocks.length > 0);
    box.append(make('h3', {}, say('closeup')), make('p', {class: 'hint'}, say('closeup_hint')));
    mxChart.blocks(
        chartBox(box), rows, (end - begin) / 1000,
        (t, more) => end - begin > 1.5e6 ? L.seconds(t / 1000, more) : L.milliseconds(t, more));
  }

  section('memory', false, box => {
    const devices = (D.run && D.run.devices) || [];
    if (devices.length === 0 && last('model_bytes') === null) return false;
    title(box, 'memory');
    const colours = ['var(--one)', 'var(--two)', 'var(--three)', 'var(--four)', 'var(--five)'];
    for (const d of devices) {
      const owners = Object.entries(d.owners).sort((a, b) => b[1] - a[1]), big = owners.slice(0, 5);
      const limit = d.limit_bytes || d.peak_bytes || 1;
      const rest = owners.slice(5).reduce((a, o) => a + o[1], 0), legend = make('div', {class: 'legend'});
      const parts = big.concat(rest > 0 ? [[say('rest'), rest]] : []);
      box.append(
          make('h3', {}, make('bdi', {}, d.logical + ' · ' + d.name)),
          make(
              'div', {}, say('memory_used', L.bytes(d.used_bytes), L.bytes(limit), L.percent(d.used_bytes / limit, 1)),
              ' ', make('span', {class: 'soft'}, say('peak', L.bytes(d.peak_bytes)))),
          make(
              'div', {class: 'track'},
              parts.map(
                  (o, i) =>
                      make('i', {style: `width:${100 * o[1] / limit}%;background:${colours[i] || 'var(--soft)'}`}))),
          legend);
      parts.forEach(
          (o, i) => legend.append(make(
              'span', {}, make('i', {style: `background:${colours[i] || 'var(--soft)'}`}), make('bdi', {}, o[0]),
              make('b', {}, L.bytes(o[1])))));
    }
    if (steps() > 1)
      curve(box, {
        height: 130,
        zero: true,
        binary: true,
        format: L.bytes,
        limits: [{value: last('model_limit_bytes'), colour: 'var(--bad)'}],
        lines: [
          two() ? {name: say('data_device'), colour: 'var(--three)', x: S('step'), y: S('data_bytes')} : {},
          {name: say(two() ? 'model_device' : 'one_device'), colour: 'var(--one)', x: S('step'), y: S('model_bytes')}
        ]
      });
    if (D.leaks.length > 0)
      box.append(
          make('h3', {}, say('leaks')),
          make('ul', {}, D.leaks.map(l => make('li', {}, say('leak', L.number(l.step), l.owner, L.bytes(l.bytes))))));
    return true;
  });

  /* What stands between `…` is for a terminal; it keeps together with brackets around it. */
  const command = text => make('span', {}, text.split('`').map((part, i) => i % 2 ? make('code', {}, part) : part));
  const sentence = text => text.split(/(\(?`[^`]*`\)?)/).map((part, i) => i % 2 ? command(part) : part);

  section('advice', false, box => {
    const run = D.run, flow = run && run.flow;
    if (!run) return false;
    title(box, 'advice');
    if (!flow) {
      box.append(make('p', {class: 'soft'}, say('no_flow')));
      return true;
    }
    const real = run.advice.filter(a => !a.hidden);
    box.append(make(
        'p', {class: 'verdict ' + (real.length ? 'bad' : 'good')},
        say(real.length ? 'bad' : 'good', L.percent(flow.model_busy), L.percent(flow.data_wait, 1))));
    for (const a of run.advice) {
      const own = L.persian && a.finding_fa, words = own ? [a.finding_fa, a.remedy_fa] : [a.finding, a.remedy];
      box.append(make(
          'div', {class: 'advice' + (a.hidden ? ' calm' : '')},
          make('p', {}, make('b', {}, say('kind ' + a.kind)), a.hidden ? ' · ' + say('calm') : ''),
          words.filter(text => text).map(
              (text, i) =>
                  make('p', {class: 'said-so', dir: own ? null : 'ltr'}, i ? say('so') : null, sentence(text)))));
    }
    const means = ['load', 'process', 'transfer', 'train'].map(name => flow.stages[name].batch_ms.mean),
          most = Math.max(...means);
    box.append(make('h3', {}, say('stages')));
    means.forEach((value, i) => {
      const stage = flow.stages[['load', 'process', 'transfer', 'train'][i]];
      if (value > 0)
        box.append(make(
            'div', {class: 'stage'}, make('span', {}, say('stage_' + i)), make('b', {}, L.ms(value)),
            make(
                'div', {class: 'track'}, make('i', {style: `width:${100 * value / most}%;background:${COLOURS[i]}`})),
            stage.cpu_ms === undefined ?
                null :
                make('small', {class: 'soft'}, say('stage_parts', L.ms(stage.cpu_ms), L.ms(stage.blocked_ms)))));
    });
    return true;
  });

  section('facts', true, box => {
    title(box, 'facts');
    const table = make('dl', {class: 'facts'}), r = D.run, code = text => make('code', {}, text);
    const row = (key, ...value) => table.append(make('div', {}, make('dt', {}, say(key)), make('dd', {}, ...value)));
    if (r) {
      const m = r.model, c = r.corpus, t = r.training, rows = Object.entries(c.left_out);
      row('f_model',
          say('f_model_v', m.size, L.number(m.parameters / 1e6, 1), L.number(m.width), L.number(m.encoder_blocks),
              L.number(m.decoder_blocks)),
          m.mixed_precision ? say('mixed') : '');
      row('f_corpus', code(c.path));
      row('f_used', say('f_used_v', L.number(c.training), L.number(c.validation), L.time(c.seconds)));
      row('f_speakers', L.number(c.speakers) + say('comma') + L.number(c.symbols));
      row('f_rows', rows.length ? rows.map(e => L.number(e[1]) + ' ' + say(e[0])).join(say('comma')) : say('none'));
    }
    row('f_dropped',
        sum('left_out') > 0 ?
            say('f_dropped_v', L.number(sum('left_out')), L.number(sum('left_out') + sum('utterances'))) :
            say('none'));
    row('f_skipped', sum('skipped') > 0 ? L.number(sum('skipped')) : say('none'));
    if (r) {
      const t = r.training;
      row('f_mode', make('bdi', {}, r.mode), r.overlap ? '' : say('no_overlap'));
      row('f_map',
          r.devices.map(
              d => make(
                  'div', {}, make('bdi', {dir: 'ltr'}, `${d.logical} = ${d.name} (${d.description})`), ' ',
                  make('span', {class: 'soft'}, say('role_' + d.role)))));
      if (r.fallback) row('f_mode', make('bdi', {dir: 'ltr'}, r.fallback));
      row('f_batch', say('f_batch_v', L.number(t.batch_size), L.number(t.grad_accum)));
      row('f_level', say('f_level_v', t.optimization_level, L.tick(t.learning_rate)));
      row('f_augment', say(t.augment ? 'yes' : 'no'));
      row('f_seed', L.digits(String(t.seed)));
      if (r.best) row('f_best', say('f_best_v', L.number(r.best.step), L.number(r.best.mel_db, 2)));
      row('f_started', say('f_started_v', L.date(r.started), L.number(r.first_step)));
      row('f_written', L.date(Math.max(r.written, last('time') || 0)));
      if (r.failure) row('f_failure', make('bdi', {dir: 'ltr'}, r.failure));
      row('f_program', code('myxtts ' + r.program));
    }
    if (D.damaged > 0) row('f_damaged', L.number(D.damaged));
    box.append(table);
  });

  section('resume', true, box => {
    if (!D.run || !D.run.resume) return false;
    title(box, 'resume', 'resume_hint');
    const command = make('pre', {id: 'command'}, D.run.resume);
    const button = make(
        'button', {
          type: 'button',
          onclick: () => {
            const range = document.createRange();
            range.selectNodeContents(command);
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            document.execCommand('copy'); /* navigator.clipboard is not there for pages that are files */
            button.textContent = say('copied');
          }
        },
        say('copy'));
    box.append(command, button);
    if (D.config)
      box.append(
          make('details', {style: 'margin-top:14px'}, make('summary', {}, say('config')), make('pre', {}, D.config)));
    return true;
  }, true);

  const find = id => sections.find(s => s.id === id);

  /* ---- life ---- */
  function drawAll(media) {
    head(document.getElementById('head'));
    for (const part of sections)
      if (media || !part.once) draw(part);
    if (layout()) /* curves fit the width of their section */
      for (const part of sections.filter(part => !part.wide)) draw(part);
  }
  function later() {
    if (pending) return;
    pending = setTimeout(() => {
      pending = 0;
      drawAll(false);
    }, 400);
  }

  /* Two values become one, as page_series.c would have it. */
  function thin() {
    for (const [key, list] of Object.entries(D.series)) {
      const half = [], rule = ruleOf(key);
      for (let i = 0; i + 1 < list.length; i += 2) {
        const pair = [list[i], list[i + 1]].filter(good);
        half.push(
            pair.length === 0      ? null :
                rule === 'last'    ? pair[pair.length - 1] :
                rule === 'highest' ? Math.max(...pair) :
                                     pair.reduce((a, b) => a + b, 0) / (rule === 'sum' ? 1 : pair.length));
      }
      D.series[key] = half;
    }
    D.per *= 2;
  }

  function add(record) {
    if (typeof record === 'string') record = JSON.parse(record);
    if (record.evaluation) {
      if (D.evaluations.some(e => e.step >= record.step)) return;
      D.evaluations.push(Object.assign({step: record.step}, record.evaluation));
      if (live) setTimeout(refresh, 1500);
    } else {
      if (!good(record.step) || record.step <= (last('step') || 0)) return;
      const count = steps();
      for (const key of Object.keys(record))
        if (!D.series[key] && typeof record[key] !== 'string') D.series[key] = new Array(count).fill(null);
      for (const [key, list] of Object.entries(D.series))
        list.push(
            record[key] === true          ? 1 :
                record[key] === false     ? 0 :
                record[key] === undefined ? null :
                                            record[key]);
      if (record.leak) D.leaks.push({step: record.step, owner: record.leak, bytes: record.leak_bytes});
      if (steps() > POINTS) thin();
    }
    later();
  }
  function run(object) {
    D.run = typeof object === 'string' ? JSON.parse(object) : object;
    later();
  }

  /* New pictures and sounds are in the page itself: it is asked for once more. */
  function refresh() {
    fetch(location.href, {cache: 'no-store'})
        .then(answer => answer.text())
        .then(text => {
          const script = new DOMParser().parseFromString(text, 'text/html').getElementById('run');
          if (!script) return;
          const fresh = JSON.parse(script.textContent),
                playing = [...document.querySelectorAll('audio')].some(a => !a.paused);
          Object.assign(D, {pictures: fresh.pictures, run: fresh.run});
          draw(find('pictures'));
          if (!playing) {
            Object.assign(D, {sounds: fresh.sounds, recordings: fresh.recordings});
            draw(find('sounds'));
          }
          later();
        })
        .catch(() => {/* the run has ended, and with it the server: the page keeps what it has */});
  }
  function listen() {
    const query = location.search ? location.search + '&' : '?';
    const source = new EventSource('events' + query + 'after=' + (last('step') || 0));
    const tell = (text, kind) => {
      const badge = document.getElementById('live');
      if (badge) {
        badge.textContent = say(text);
        badge.className = 'badge ' + kind;
      }
    };
    source.onmessage = message => add(message.data);
    source.addEventListener('run', message => run(message.data));
    source.onopen = () => tell('live', 'now');
    source.onerror = () => tell('lost', 'bad');
  }

  /* The language of the address (#fa), otherwise that of the page. */
  function speak() {
    const asked = location.hash.slice(1), code = D.words[asked] ? asked : D.language;
    L = mxLanguage(code, D.words[code]);
    say = L.say;
    Object.assign(document.documentElement, {lang: code, dir: L.persian ? 'rtl' : 'ltr'});
  }
  const footer = () => make('footer', {class: 'wide'}, say('footer', (D.run && D.run.program) || '', L.date(D.written)));

  /* The server has given the token as a cookie, too: it need not stay in the address. */
  function tokenHide() {
    const address = new URL(location.href);
    if (!address.searchParams.has('token') || !navigator.cookieEnabled) return;
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
  }

  function start() {
    const main = document.getElementById('page');
    document.title = D.name + ' · MyXTTS';
    speak();
    main.append(make('header', {id: 'head', class: 'wide'}));
    for (const part of sections) {
      part.box = make('section', {id: part.id, class: part.wide ? 'wide' : null});
      main.append(part.box);
    }
    main.append(footer());
    drawAll(true);
    addEventListener('hashchange', () => {
      speak();
      main.lastElementChild.replaceWith(footer());
      drawAll(true);
    });
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth !== width) {
        width = innerWidth;
        drawAll(false);
      }
    });
    if (live) {
      tokenHide();
      listen();
    }
  }
  start();
  return {add, run};
})();
