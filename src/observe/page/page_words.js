/* SPDX-License-Identifier: GPL-3.0-or-later
 * What the page of a run says, and how each language writes numbers. The words come with the data (page.h); {0}, {1} …
 * are filled in. */
'use strict';

/* The words and numbers of one language. */
function mxLanguage(language, words) {
  const persian = language === 'fa';
  const digits = text =>
      !persian ? text : text.replace(/[0-9]/g, d => '۰۱۲۳۴۵۶۷۸۹'[d]).replace(/\./g, '٫').replace(/,/g, '٬');
  /* Names in Latin letters keep together in a Persian sentence, and quantities with their units in a Latin one. */
  const isolate = text => persian && /[A-Za-z]/.test(text) ? '\u2068' + text + '\u2069' : text;
  const whole = text => persian ? '\u2067' + text + '\u2069' : text;
  const say = (key, ...values) =>
      (words[key] || key).replace(/\{(\d)\}/g, (all, i) => isolate(String(values[i])));
  const number = (x, places = 0) => x === null || x === undefined || !isFinite(x) ?
      '–' :
      digits(x.toLocaleString('en-US', {minimumFractionDigits: places, maximumFractionDigits: places}))
          .replace('-', '−');
  /* Three significant digits, whatever the size. */
  const brief = x => {
    if (x === null || x === undefined || !isFinite(x)) return '–';
    if (x === 0) return number(0);
    const size = Math.floor(Math.log10(Math.abs(x)));
    if (size >= 3) return number(x);
    if (size >= -3) return number(Number(x.toPrecision(3)), Math.max(0, Math.min(4, 2 - size)));
    return '\u2066' + number(x / 10 ** size, 1) + '·' + digits('10') +
        String(size).replace(
            /./g,
            c => ({'-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'})[c]) +
        '\u2069'; /* from left to right in any text */
  };
  /* The same without zeros at the end, for axes; `more` digits where ticks lie so close that three do not tell them
   * apart. */
  const tick = (x, more = 0) => {
    if (x === 0 || !isFinite(x) || Math.abs(x) < 1e-4) return x === 0 ? number(0) : brief(x).replace(/[.٫][0۰]·/, '·');
    if (Math.abs(x) >= 1000) return number(x, more);
    return digits(String(Number(x.toPrecision(3 + more)))).replace('-', '−');
  };
  const ms = x => whole(say('ms', brief(x)));
  const milliseconds = (x, more) => whole(say('ms', tick(x, more))),
        seconds = (x, more) => whole(say('seconds', tick(x, more)));
  /* U+061C makes Persian digits stand as they do after Persian letters: the sign to the left of them. */
  const percent = (x, places = 0) => whole((persian ? '\u061c' : '') + say('percent', number(100 * x, places)));
  const bytes = (x, more = 0) => {
    let unit = 0;
    for (; x >= 1024 && unit < 4; unit++) x /= 1024;
    return whole(say('B ' + unit, number(x, unit === 0 ? 0 : more + (x < 10 ? 2 : x < 100 ? 1 : 0))));
  };
  const time = seconds => {
    const s = Math.round(seconds);
    if (s >= 3600) return say('hours', number(Math.floor(s / 3600)), number(Math.floor(s % 3600 / 60)));
    return s >= 60 ? say('minutes', number(Math.floor(s / 60)), number(s % 60)) : say('seconds', number(s));
  };
  const date = seconds =>
      new Date(1000 * seconds).toLocaleString(persian ? 'fa-IR' : 'en-GB', {dateStyle: 'long', timeStyle: 'short'});
  return {persian, say, digits, number, brief, tick, ms, milliseconds, seconds, percent, bytes, time, date};
}
