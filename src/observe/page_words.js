/* SPDX-License-Identifier: GPL-3.0-or-later
 * What the page of a run says (page.h), in English and in Persian, and how each language writes numbers. {0}, {1} … are
 * filled in. */
'use strict';
const mxWords = {
  of_steps: ['step {0} of {1}', 'گام {0} از {1}'],
  epoch: ['epoch {0}', 'دور {0}'],
  took: ['{0} of training', '{0} آموزش'],
  left: ['about {0} to go', 'حدود {0} مانده'],
  'state training': ['training', 'در حال آموزش'],
  'state done': ['done', 'پایان‌یافته'],
  'state stopped early': ['stopped early', 'پایان زودهنگام'],
  'state time limit': ['time limit', 'پایان مهلت'],
  'state interrupted': ['interrupted', 'نیمه‌کاره'],
  'state failed': ['failed', 'ناموفق'],
  'state unknown': ['unfinished', 'ناتمام'],
  live: ['live', 'زنده'],
  lost: ['connection lost, trying again', 'ارتباط قطع شد، دوباره تلاش می‌شود'],
  unfinished: [
    'This run had not ended when the page was written: it was still going on, or it crashed.',
    'هنگام نوشتن این صفحه آموزش هنوز تمام نشده بود؛ یا ادامه داشت، یا برنامه ناگهان بسته شده است.'
  ],
  tile_loss: ['loss', 'زیان'],
  tile_distance: ['dB from the recordings, spoken', 'دسی‌بل فاصلهٔ گفتار با صدای ضبط‌شده'],
  tile_speed: ['mel frames a second', 'فریم مل در ثانیه'],
  tile_steps: ['steps a minute', 'گام در دقیقه'],
  tile_model: ['model device busy', 'مشغولیت دستگاه مدل'],
  tile_data: ['data device busy', 'مشغولیت دستگاه داده'],
  tile_device: ['device busy', 'مشغولیت دستگاه'],
  tile_wait: ['waited for data', 'انتظار برای داده'],
  tile_memory: ['memory of {0}', 'حافظهٔ {0}'],
  loss: ['Loss', 'زیان'],
  loss_hint: [
    'Pale: as measured; strong: smoothed. Dots: recordings kept for validation.',
    'کم‌رنگ: مقدار اندازه‌گیری‌شده؛ پررنگ: هموارشده. نقطه‌ها: صداهایی که برای اعتبارسنجی کنار گذاشته شده‌اند.'
  ],
  train: ['training', 'آموزش'],
  validation: ['validation', 'اعتبارسنجی'],
  log: ['logarithmic', 'لگاریتمی'],
  total: ['total', 'مجموع'],
  mel: ['mel', 'مل'],
  prior: ['alignment', 'هم‌ترازی'],
  duration: ['duration', 'دیرش'],
  pitch: ['pitch', 'زیروبمی'],
  energy: ['energy', 'انرژی'],
  speech: ['Spoken, against the recordings', 'گفتار در برابر صدای ضبط‌شده'],
  speech_hint: [
    'Validation texts are really spoken and compared with their recordings. Lower is better.',
    'متن‌های اعتبارسنجی واقعاً خوانده و با صدای ضبط‌شده مقایسه می‌شوند. هرچه کمتر، بهتر.'
  ],
  mel_db: ['mel distance, dB', 'فاصلهٔ مل، دسی‌بل'],
  duration_error: ['duration off by', 'خطای دیرش'],
  pitch_semitones: ['pitch off by, semitones', 'خطای زیروبمی، نیم‌پرده'],
  rate: ['Learning rate and gradient', 'نرخ یادگیری و گرادیان'],
  lr: ['learning rate', 'نرخ یادگیری'],
  grad_norm: ['gradient norm', 'اندازهٔ گرادیان'],
  speed: ['Throughput', 'سرعت آموزش'],
  frames_per_s: ['mel frames a second', 'فریم مل در ثانیه'],
  step_ms: ['step, ms', 'زمان هر گام، میلی‌ثانیه'],
  wait_ms: ['of it waiting for data, ms', 'سهم انتظار برای داده، میلی‌ثانیه'],
  devices: ['Both devices over time', 'دو دستگاه در طول زمان'],
  device: ['The device over time', 'دستگاه در طول زمان'],
  devices_hint: ['Shares of the time, over the last 50 steps each.', 'سهم هر کار از زمان، هر بار در ۵۰ گام اخیر.'],
  data_device: ['Data device', 'دستگاه داده'],
  model_device: ['Model device', 'دستگاه مدل'],
  one_device: ['Device', 'دستگاه'],
  working: ['preparing batches', 'آماده‌سازی دسته‌ها'],
  transferring: ['transferring', 'انتقال'],
  waiting: ['waiting', 'انتظار'],
  training: ['training', 'آموزش'],
  for_data: ['waiting for data', 'انتظار برای داده'],
  other: ['other', 'کارهای دیگر'],
  rest: ['other', 'بقیه'],
  busy: ['busy', 'مشغول'],
  closeup: ['A close look at the newest batches', 'نگاه نزدیک به آخرین دسته‌ها'],
  closeup_hint: [
    'Each block is one batch in one stage, measured on the devices.',
    'هر قطعه یک دسته در یک مرحله است؛ زمان‌ها روی خود دستگاه‌ها اندازه‌گیری شده‌اند.'
  ],
  stage_0: ['load', 'بارگذاری'],
  stage_1: ['process', 'پردازش'],
  stage_2: ['transfer', 'انتقال'],
  stage_3: ['train', 'آموزش'],
  hidden: ['{0} of the time of transfers lay behind training.', '{0} از زمان انتقال‌ها هم‌زمان با آموزش گذشت.'],
  memory: ['Memory against limits', 'حافظه در برابر سقف آن'],
  memory_used: ['{0} of {1} ({2})', '{0} از {1} ({2})'],
  peak: ['at most {0}', 'حداکثر {0}'],
  leaks: ['Memory grew', 'رشد حافظه'],
  leak: ["step {0}: '{1}' had {2} more", 'گام {0}: «{1}» به اندازهٔ {2} بیشتر شده بود'],
  advice: ['Verdict and advice', 'ارزیابی و توصیه'],
  good: [
    'No bottleneck: the model device was busy {0} of the time and waited {1} for data.',
    'گلوگاهی نیست: دستگاه مدل {0} از زمان را مشغول بود و {1} را منتظر داده ماند.'
  ],
  bad: [
    'There is something to improve: the model device was busy {0} of the time and waited {1} for data.',
    'جای بهبود هست: دستگاه مدل {0} از زمان را مشغول بود و {1} را منتظر داده ماند.'
  ],
  no_flow: ['Nothing was measured yet.', 'هنوز چیزی اندازه‌گیری نشده است.'],
  'kind load': ['Loading', 'بارگذاری'],
  'kind transfer': ['Transfer', 'انتقال میان دو دستگاه'],
  'kind data device': ['Data device', 'دستگاه داده'],
  'kind variation': ['Uneven steps', 'گام‌های ناهموار'],
  calm: ['hidden behind training', 'پشت آموزش پنهان است و مدل منتظرش نمی‌ماند'],
  so: ['→ ', '← '],
  stages: ['What a batch takes, on average', 'میانگین زمان هر دسته'],
  sounds: ['Hear it', 'بشنوید'],
  sounds_hint: [
    'Texts that were not trained on, spoken with the averaged weights.',
    'متن‌هایی که در آموزش نبوده‌اند، با وزن‌های میانگین‌گرفته خوانده شده‌اند.'
  ],
  at_step: ['step {0}', 'گام {0}'],
  recording: ['the recording itself', 'خود صدای ضبط‌شده'],
  pictures: ['Mel pictures', 'تصویرهای مل'],
  pictures_hint: [
    'A recording that was not trained on, from low bands (bottom) to high ones.',
    'صدایی که در آموزش نبوده است؛ باندهای بم پایین و باندهای زیر بالا هستند. زمان از چپ به راست می‌گذرد.'
  ],
  target: ['Target: the recording', 'هدف: صدای ضبط‌شده'],
  prediction: ['Prediction', 'پیش‌بینی'],
  difference: ['Difference: bright is wrong', 'تفاوت: هرچه روشن‌تر، نادرست‌تر'],
  alignment: ['Alignment: symbols upwards, time to the right', 'هم‌ترازی: نمادها رو به بالا، زمان رو به راست'],
  facts: ['Facts', 'مشخصات'],
  f_model: ['Network', 'شبکه'],
  f_model_v: [
    '{0}, {1} M parameters, {2} wide, {3} + {4} blocks',
    '{0}، {1} میلیون پارامتر، پهنای {2}، {3} + {4} بلوک'
  ],
  mixed: [', mixed precision', '، دقت ترکیبی'],
  f_corpus: ['Corpus', 'مجموعه'],
  f_used: ['Utterances', 'گفته‌ها'],
  f_used_v: ['{0} to train on, {1} for validation; {2}', '{0} برای آموزش، {1} برای اعتبارسنجی؛ {2}'],
  f_speakers: ['Speakers, symbols', 'گوینده، نماد'],
  f_rows: ['Rows left out', 'سطرهای کنار گذاشته‌شده'],
  f_dropped: ['Dropped while loading', 'افتاده هنگام بارگذاری'],
  f_dropped_v: ['{0} of {1} utterances', '{0} از {1} گفته'],
  f_skipped: ['Steps without an update', 'گام‌های بدون به‌روزرسانی'],
  none: ['none', 'هیچ'],
  f_mode: ['Mode', 'حالت'],
  f_map: ['Devices', 'دستگاه‌ها'],
  role_data: ['prepares batches', 'دسته‌ها را آماده می‌کند'],
  role_model: ['trains', 'آموزش می‌دهد'],
  role_both: ['does everything', 'همهٔ کارها را می‌کند'],
  no_overlap: [', without overlap', '، بدون هم‌پوشانی'],
  f_batch: ['Batch', 'دسته'],
  f_batch_v: ['{0} utterances × {1}', '{0} گفته × {1}'],
  f_level: ['Optimization', 'بهینه‌سازی'],
  f_level_v: ['{0}, learning rate up to {1}', '{0}، نرخ یادگیری تا {1}'],
  f_augment: ['Augmentation', 'داده‌افزایی'],
  f_seed: ['Seed', 'بذر تصادفی'],
  f_best: ['Best', 'بهترین'],
  f_best_v: ['step {0}, {1} dB', 'گام {0}، {1} دسی‌بل'],
  f_started: ['This start', 'آغاز این نوبت'],
  f_started_v: ['{0}, after step {1}', '{0}، پس از گام {1}'],
  f_written: ['Last word', 'آخرین خبر'],
  f_program: ['Program', 'برنامه'],
  f_failure: ['Failure', 'علت توقف'],
  f_damaged: ['Unreadable lines of metrics.jsonl', 'سطرهای ناخوانای metrics.jsonl'],
  yes: ['yes', 'بله'],
  no: ['no', 'خیر'],
  resume: ['Go on', 'ادامهٔ آموزش'],
  resume_hint: [
    'Goes on exactly where the newest checkpoint is:',
    'این فرمان دقیقاً از آخرین نقطهٔ ذخیره ادامه می‌دهد:'
  ],
  copy: ['copy', 'رونوشت'],
  copied: ['copied', 'رونوشت شد'],
  config: ['All settings of this run', 'همهٔ تنظیم‌های این آموزش'],
  footer: [
    'Written by myxtts {0} on {1}. This page is complete in itself: nothing is loaded from anywhere.',
    'نوشتهٔ myxtts {0} در {1}. این صفحه کامل است و هیچ چیز را از جایی بار نمی‌کند.'
  ],
  empty: ['No steps yet.', 'هنوز گامی برداشته نشده است.'],
  hours: ['{0} h {1} min', '{0} ساعت و {1} دقیقه'],
  minutes: ['{0} min {1} s', '{0} دقیقه و {1} ثانیه'],
  seconds: ['{0} s', '{0} ثانیه'],
  ms: ['{0} ms', '{0} میلی‌ثانیه'],
  percent: ['{0} %', '{0}٪'],
  comma: [' · ', '، '],
  'bad-line': ['bad line', 'سطر نادرست'],
  'invalid-utf8': ['not UTF-8', 'کدگذاری نادرست'],
  'duplicate-id': ['duplicate', 'تکراری'],
  'empty-text': ['empty text', 'متن خالی'],
  'unknown-language': ['unknown language', 'زبان ناشناخته'],
  'unknown-symbol': ['unknown symbol', 'نماد ناشناخته'],
  'missing-file': ['no recording', 'بدون صدا'],
  unreadable: ['unreadable', 'ناخوانا'],
  'lying-header': ['wrong header', 'سرآیند نادرست'],
  'absurd-rate': ['sample rate', 'نرخ نمونه‌برداری'],
  'not-finite': ['not finite', 'مقدار نامعتبر'],
  'too-short': ['too short', 'بیش از حد کوتاه'],
  'too-long': ['too long', 'بیش از حد بلند'],
  silent: ['silent', 'بی‌صدا'],
  clipped: ['clipped', 'بریده‌شده'],
  'speaking-rate': ['text does not match', 'ناهمخوانی متن و صدا'],
  'B 0': ['{0} B', '{0} بایت'],
  'B 1': ['{0} KiB', '{0} کیلوبایت'],
  'B 2': ['{0} MiB', '{0} مگابایت'],
  'B 3': ['{0} GiB', '{0} گیگابایت'],
  'B 4': ['{0} TiB', '{0} ترابایت']
};

/* The words and numbers of one language. */
function mxLanguage(language) {
  const persian = language === 'fa';
  const digits = text =>
      !persian ? text : text.replace(/[0-9]/g, d => '۰۱۲۳۴۵۶۷۸۹'[d]).replace(/\./g, '٫').replace(/,/g, '٬');
  /* Names in Latin letters keep together in a Persian sentence, and quantities with their units in a Latin one. */
  const isolate = text => persian && /[A-Za-z]/.test(text) ? '\u2068' + text + '\u2069' : text;
  const whole = text => persian ? '\u2067' + text + '\u2069' : text;
  const say = (key, ...values) =>
      (mxWords[key] ? mxWords[key][persian ? 1 : 0] : key).replace(/\{(\d)\}/g, (all, i) => isolate(String(values[i])));
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
  /* The same without zeros at the end, for axes. */
  const tick = x => {
    if (x === 0 || !isFinite(x) || Math.abs(x) >= 1000 || Math.abs(x) < 1e-4)
      return x === 0 ? number(0) : brief(x).replace(/[.٫][0۰]·/, '·');
    return digits(String(Number(x.toPrecision(3)))).replace('-', '−');
  };
  const ms = x => whole(say('ms', brief(x)));
  const milliseconds = x => whole(say('ms', tick(x))), seconds = x => whole(say('seconds', tick(x)));
  /* U+061C makes Persian digits stand as they do after Persian letters: the sign to the left of them. */
  const percent = (x, places = 0) => whole((persian ? '\u061c' : '') + say('percent', number(100 * x, places)));
  const bytes = x => {
    let unit = 0;
    for (; x >= 1024 && unit < 4; unit++) x /= 1024;
    return whole(say('B ' + unit, number(x, unit === 0 ? 0 : x < 10 ? 2 : x < 100 ? 1 : 0)));
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
