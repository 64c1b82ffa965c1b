/* SPDX-License-Identifier: GPL-3.0-or-later
 * Curves of the page of a run (page.h) as SVG: lines over steps, shares of time, and blocks on a time axis. Each
 * function fills the element that it is given and returns nothing; it is called again whenever something has changed.
 */
'use strict';
const mxChart = (() => {
  const RIGHT = 12, TOP = 8, BOTTOM = 22;
  let clips = 0; /* names of clips so far */

  /* An element with attributes and children; texts become text, never markup. */
  function make(tag, attributes, ...children) {
    const svg = ['svg', 'path', 'line', 'text', 'rect', 'circle', 'g', 'title', 'clipPath'].includes(tag);
    const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (name.startsWith('on'))
        element[name] = value;
      else if (value !== null && value !== undefined && value !== false)
        element.setAttribute(name, value === true ? '' : value);
    for (const child of children.flat())
      if (child !== null && child !== undefined) element.append(child);
    return element;
  }

  const good = x => x !== null && x !== undefined && isFinite(x);

  /* The mean of the `span` values around each, of fewer at the ends, so that it does not lag; holes stay holes.
   */
  function smooth(values, span) {
    const sums = [0], counts = [0], reach = Math.floor(Math.max(1, span) / 2), n = values.length;
    for (let i = 0; i < n; i++) {
      sums.push(sums[i] + (good(values[i]) ? values[i] : 0));
      counts.push(counts[i] + (good(values[i]) ? 1 : 0));
    }
    return values.map((v, i) => {
      const r = Math.min(reach, i, Math.max(n - 1 - i, Math.floor(reach / 4))), from = i - r,
            to = Math.min(n, i + r + 1);
      return good(v) ? (sums[to] - sums[from]) / (counts[to] - counts[from]) : null;
    });
  }

  /* Round numbers, about as many as wanted; more if fewer than two of them lie in the range. */
  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(f => f * power >= rough * 0.999) * power, out = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step)
      out.push(Math.abs(at) < step * 1e-9 ? 0 : at);
    return out.length < 2 && high > low && wanted < 12 ? ticks(low, high, wanted + 1) : out;
  }

  function logTicks(low, high) {
    const out = [], wide = high / low > 400;
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const f of wide ? [1] : [1, 2, 5]) {
        const at = f * 10 ** power;
        if (at >= low * 0.999 && at <= high * 1.001) out.push(at);
      }
    return out.length >= 2 ? out : ticks(low, high, 3).filter(t => t > 0);
  }

  /* From where to where the values go, without the few that would flatten all others. */
  function range(lists, log, zero) {
    const all = lists.flat().filter(v => good(v) && (!log || v > 0)).sort((a, b) => a - b);
    if (all.length === 0) return [log ? 0.1 : 0, 1];
    let low = all[Math.floor(0.005 * (all.length - 1))], high = all[Math.ceil(0.985 * (all.length - 1))];
    if (zero) low = Math.min(0, low);
    if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
    const room = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.1 || 1;
    return [zero && low === 0 ? 0 : low - room, high + room];
  }

  /* The ticks with their words, which have as many more digits as tell them apart. */
  function marks(values, format) {
    for (let more = 0;; more++) {
      const words = values.map(v => format(v, more));
      if (more === 4 || new Set(words).size === words.length) return values.map((v, i) => [v, words[i]]);
    }
  }

  function frame(box, height, low, high, xs, options) {
    const width = Math.max(240, box.clientWidth || 600);
    const unit = options.binary ? 1024 ** Math.max(0, Math.floor(Math.log(high) / Math.log(1024))) : 1;
    const x0 = xs[0], x1 = xs[1] > xs[0] ? xs[1] : xs[0] + 1;
    const rows = marks(
        options.log ? logTicks(low, high) : ticks(low / unit, high / unit, height < 140 ? 3 : 5).map(t => t * unit),
        options.tick || options.format);
    const letter = document.documentElement.lang === 'fa' ? 7.6 : 6.7; /* about the width of a digit, see page.css */
    const signs = text => text.replace(/[\u061c\u2066-\u2069]/g, '').length;
    const left = 14 + letter * Math.max(3, ...rows.map(m => signs(m[1]))); /* room for the longest of them */
    const f = {width, height, left, inside: width - left - RIGHT};
    f.x = v => left + (v - x0) / (x1 - x0) * f.inside;
    f.back = pixel => x0 + (pixel - left) / f.inside * (x1 - x0);
    const scale = options.log ? Math.log : v => v;
    f.y = v => TOP + (1 - (scale(v) - scale(low)) / (scale(high) - scale(low))) * (height - TOP - BOTTOM);
    f.svg = make('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': options.title || ''});
    f.clip = `url(#clip-${++clips})`;
    f.svg.append(make(
        'clipPath', {id: `clip-${clips}`},
        make('rect', {x: left - 2, y: 0, width: f.inside + 4, height: height - BOTTOM + 3})));
    for (const [t, text] of rows)
      f.svg.append(
          make('line', {class: 'grid', x1: left, x2: width - RIGHT, y1: f.y(t), y2: f.y(t)}),
          make('text', {x: left - 7, y: f.y(t) + 4, 'text-anchor': 'end'}, text));
    for (const t of ticks(x0, x1, Math.max(2, Math.round(f.inside / 110))).filter(Number.isInteger)) /* of steps */
      f.svg.append(make(
          'text', {x: f.x(t), y: height - 6, 'text-anchor': f.x(t) > width - 40 ? 'end' : 'middle'},
          options.xformat(t)));
    return f;
  }

  /* Values far outside of the range leave the picture, whose clip cuts the line off there. */
  function path(xs, ys, f) {
    let text = '', pen = false;
    for (let i = 0; i < xs.length; i++) {
      const y = good(ys[i]) ? f.y(ys[i]) : NaN;
      if (!isFinite(y)) {
        pen = false;
        continue;
      }
      text += (pen ? 'L' : 'M') + f.x(xs[i]).toFixed(1) + ' ' + Math.min(Math.max(y, -9999), 9999).toFixed(1);
      pen = true;
    }
    return text;
  }

  function nearest(xs, x) {
    let best = 0;
    for (let i = 1; i < xs.length; i++)
      if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  }

  /* The legend shows the values at the finger or the mouse, otherwise the newest. */
  function follow(box, f, legend, shown, name) {
    const cursor = make('line', {class: 'cursor', y1: TOP, y2: f.height - BOTTOM, visibility: 'hidden'});
    const where = make('span', {class: 'soft'});
    f.svg.append(cursor);
    legend.append(where);
    const tell = x => {
      for (const s of shown) s.value.textContent = s.at(x);
      where.textContent = x === null ? '' : name(x);
    };
    f.svg.onpointermove = event => {
      const pixel =
          (event.clientX - f.svg.getBoundingClientRect().left) * f.width / f.svg.getBoundingClientRect().width;
      const x = Math.round(Math.min(Math.max(f.back(pixel), f.back(f.left)), f.back(f.width - RIGHT)));
      cursor.setAttribute('x1', f.x(x));
      cursor.setAttribute('x2', f.x(x));
      cursor.setAttribute('visibility', 'visible');
      tell(x);
    };
    f.svg.onpointerleave = () => {
      cursor.setAttribute('visibility', 'hidden');
      tell(null);
    };
    tell(null);
    box.replaceChildren(f.svg, legend);
  }

  function entry(name, colour) {
    const value = make('b', {});
    return {value, item: make('span', {}, make('i', {style: `background:${colour}`}), name, value)};
  }

  /* options: lines [{name, colour, x, y, smooth (span), dots}], limits [{value, colour, name}], log, zero, format,
   * xformat, height. */
  function lines(box, options) {
    const used = options.lines.filter(l => l.y && l.y.some(good));
    if (used.length === 0) {
      box.replaceChildren();
      return;
    }
    for (const l of used) l.strong = l.smooth > 1 ? smooth(l.y, l.smooth) : l.y;
    let [low, high] = range(used.map(l => l.smooth > 1 ? l.strong.concat(l.y) : l.y), options.log, options.zero);
    for (const limit of options.limits || [])
      if (good(limit.value) && limit.value < high * 3) high = Math.max(high, limit.value * 1.05);
    const ends = used.map(l => [l.x[0], l.x[l.x.length - 1]]);
    const f = frame(
        box, options.height || 210, low, high, [Math.min(...ends.map(e => e[0])), Math.max(...ends.map(e => e[1]))],
        options);
    const legend = make('div', {class: 'legend', dir: 'auto'}), shown = [];
    for (const l of used) {
      if (l.smooth > 1)
        f.svg.append(make(
            'path',
            {d: path(l.x, l.y, f), fill: 'none', stroke: l.colour, 'stroke-width': 1, opacity: 0.3, 'clip-path': f.clip}));
      f.svg.append(make('path', {
        class: 'curve',
        d: path(l.x, l.strong, f),
        'clip-path': f.clip,
        fill: 'none',
        stroke: l.colour,
        'stroke-width': l.dots ? 1.4 : 2.2,
        'stroke-linejoin': 'round'
      }));
      if (l.dots && l.x.length <= 120)
        l.x.forEach((x, i) => {
          if (good(l.y[i]) && l.y[i] >= low && l.y[i] <= high)
            f.svg.append(make('circle', {cx: f.x(x), cy: f.y(l.y[i]), r: 3.2, fill: l.colour}));
        });
      const e = entry(l.name, l.colour);
      const last = l.strong.reduce((found, v, i) => good(v) ? i : found, -1);
      shown.push(
          {value: e.value, at: x => (l.format || options.format)(l.strong[x === null ? last : nearest(l.x, x)])});
      legend.append(e.item);
    }
    for (const limit of options.limits || []) {
      if (!good(limit.value) || limit.value > high) continue;
      f.svg.append(make('line', {
        x1: f.left,
        x2: f.width - RIGHT,
        y1: f.y(limit.value),
        y2: f.y(limit.value),
        stroke: limit.colour,
        'stroke-dasharray': '6 4'
      }));
    }
    follow(box, f, legend, shown, options.where);
  }

  /* options: x, layers [{name, colour, y}] that add up to at most 1, format, xformat, height. */
  function shares(box, options) {
    const f = frame(box, options.height || 120, 0, 1, [options.x[0], options.x[options.x.length - 1]], options);
    const legend = make('div', {class: 'legend', dir: 'auto'}), shown = [], sums = options.x.map(() => 0);
    for (const layer of options.layers) {
      const below = sums.slice();
      layer.y.forEach((v, i) => {
        sums[i] = Math.min(1, sums[i] + (good(v) ? Math.max(0, v) : 0));
      });
      let up = '', down = '';
      const one = options.x.length === 1;
      options.x.forEach((x, i) => {
        up += (i ? 'L' : 'M') + f.x(x).toFixed(1) + ' ' + f.y(sums[i]).toFixed(1) +
            (one ? 'L' + (f.width - RIGHT) + ' ' + f.y(sums[i]).toFixed(1) : '');
        down = 'L' + f.x(x).toFixed(1) + ' ' + f.y(below[i]).toFixed(1) + down;
        if (one) down = 'L' + (f.width - RIGHT) + ' ' + f.y(below[i]).toFixed(1) + down;
      });
      f.svg.append(make('path', {class: 'curve', d: up + down + 'Z', fill: layer.colour}));
      const e = entry(layer.name, layer.colour);
      shown.push(
          {value: e.value, at: x => options.format(layer.y[x === null ? layer.y.length - 1 : nearest(options.x, x)])});
      legend.append(e.item);
    }
    follow(box, f, legend, shown, options.where);
  }

  /* rows [{name, blocks [{from, to, colour, title}]}] on one time axis, in milliseconds. */
  function blocks(box, rows, end, format) {
    const width = Math.max(240, box.clientWidth || 600), high = 26, left = 84, height = rows.length * high + 24;
    const x = t => left + t / (end || 1) * (width - left - RIGHT);
    const svg = make('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img'});
    rows.forEach((row, i) => {
      svg.append(
          make('text', {x: left - 8, y: i * high + 17, 'text-anchor': 'end'}, row.name),
          make(
              'rect',
              {x: left, y: i * high + 3, width: width - left - RIGHT, height: high - 6, fill: 'var(--fine)', rx: 3}));
      for (const b of row.blocks)
        svg.append(make(
            'rect', {
              class: 'block',
              x: x(b.from),
              y: i * high + 4,
              width: Math.max(1.2, x(b.to) - x(b.from) - 0.8),
              height: high - 8,
              fill: b.colour,
              rx: 2.5,
              opacity: b.pale ? 0.7 : 1
            },
            make('title', {}, b.title)));
    });
    for (const [t, text] of marks(ticks(0, end, Math.max(3, Math.round((width - left) / 110))), format))
      svg.append(make('text', {x: x(t), y: height - 5, 'text-anchor': x(t) > width - 50 ? 'end' : 'middle'}, text));
    box.replaceChildren(svg);
  }

  return {make, good, smooth, lines, shares, blocks};
})();
