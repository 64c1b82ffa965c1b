/* SPDX-License-Identifier: GPL-3.0-or-later
 * The page of the HTTP server (page.h): what it shows, and how it plays sound that is still being made. */
'use strict';
(() => {
  const words = JSON.parse(document.getElementById('words').textContent);
  const persian = document.documentElement.lang === 'fa';
  const digits = text => !persian ? text : text.replace(/[0-9]/g, d => '۰۱۲۳۴۵۶۷۸۹'[d]).replace(/\./g, '٫');
  const isolate = text => persian && /[A-Za-z]/.test(text) ? '\u2068' + text + '\u2069' : text;
  const say = (key, ...values) => words[key].replace(/\{(\d)\}/g, (all, i) => isolate(digits(String(values[i]))));
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const field = (id, control) => make('label', {id: id + '-field', for: id}, words[id], control);
  const option = (value, text) => make('option', {value}, text);

  /* ---- what is on the page ---- */

  const other = make('a', {href: '?lang=' + (persian ? 'en' : 'fa'), lang: persian ? 'en' : 'fa'}, words.other);
  const text = make('textarea', {id: 'text', dir: 'auto', spellcheck: 'false'});
  text.value = words.sample_en;
  const voice = make('select', {id: 'voice'}), speaker = make('select', {id: 'speaker'});
  const language = make('select', {id: 'language'}), format = make('select', {id: 'format', 'aria-label': words.format});
  const speed = make('input', {id: 'speed', type: 'range', min: '0.5', max: '2', step: '0.05', value: '1'});
  const token = make('input', {id: 'token', autocomplete: 'off', spellcheck: 'false', dir: 'ltr'});
  const listen = make('button', {id: 'listen', type: 'button'}, words.listen);
  const stop = make('button', {id: 'stop', type: 'button'}, words.stop);
  const download = make('button', {id: 'download', type: 'button'}, words.download);
  const said = make('p', {id: 'said', role: 'status'}), licence = make('p', {id: 'licence', class: 'hint', dir: 'auto'});
  const asking = make('section', {id: 'asking'}, make('p', {}, words.token_needed), field('token', token));
  const speedField = field('speed', speed), speedSaid = make('b');
  speedField.insertBefore(speedSaid, speed);
  for (const name of ['mp3', 'wav', 'flac', 'opus']) format.append(option(name, name));
  document.getElementById('page').append(
      make('header', {}, make('h1', {}, words.title), other), asking,
      make('section', {}, field('text', text),
           make('div', {class: 'fields'}, field('voice', voice), field('speaker', speaker), field('language', language),
                speedField),
           make('div', {class: 'row'}, make('div', {}, listen, stop), make('div', {}, format, download)), said, licence));
  asking.hidden = true;
  stop.disabled = true;
  document.title = words.title + ' · MyXTTS';

  const tell = (message, bad) => {
    said.textContent = message;
    said.className = bad ? 'bad' : '';
  };

  /* ---- the server ---- */

  /* A token may come with the address, like that of the page of a run. It does not stay there: this tab keeps it. */
  const address = new URL(location.href), kept = 'myxtts-token';
  if (address.searchParams.has('token')) {
    sessionStorage.setItem(kept, address.searchParams.get('token'));
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
  }
  token.value = sessionStorage.getItem(kept) || '';
  const ask = async (path, options = {}) => {
    const headers = {...options.headers};
    if (token.value) headers.Authorization = 'Bearer ' + token.value;
    const answer = await fetch(path, {...options, headers}).catch(error => {
      throw error.name === 'AbortError' ? error : new Error(words.unreachable);
    });
    if (answer.ok) return answer;
    if (answer.status === 401) asking.hidden = false;
    const problem = await answer.json().catch(() => null);
    throw new Error(say('failed', problem && problem.error ? problem.error.message : answer.status));
  };
  let voices = [];
  const chosen = () => voices.find(v => v.id === voice.value);
  const fill = () => {
    const v = chosen();
    if (!v) return;
    speaker.replaceChildren(...v.speakers.map(name => option(name, name)));
    /* Someone who speaks the language of the page, if there is anyone. */
    const at = v.speaker_languages.indexOf(document.documentElement.lang);
    if (at > 0) speaker.value = v.speakers[at];
    document.getElementById('speaker-field').hidden = v.speakers.length < 2;
    const names = new Intl.DisplayNames([document.documentElement.lang], {type: 'language', fallback: 'code'});
    language.replaceChildren(option('', words.automatic), ...v.languages.map(code => option(code, names.of(code))));
    document.getElementById('language-field').hidden = v.languages.length < 2;
    if (text.value === words.sample || text.value === words.sample_en) /* in a language that the voice speaks */
      text.value = v.languages.includes(document.documentElement.lang) ? words.sample : words.sample_en;
    /* The name of a licence keeps its digits. */
    const named = v.licence && words.licence.replace('{0}', isolate(v.licence));
    licence.textContent = [named, v.attribution].filter(Boolean).join(' · ');
  };
  const load = async () => {
    const list = await (await ask('v1/audio/voices')).json();
    voices = list.voices.filter(v => v.speakers); /* the others are speakers of these */
    voice.replaceChildren(...voices.map(v => option(v.id, v.name)));
    fill();
    if (voices.length === 0) throw new Error(words.no_voices);
    asking.hidden = true;
    tell('');
  };
  const wanted = more => {
    const body = {model: 'tts-1', input: text.value, voice: voice.value, speed: Number(speed.value), ...more};
    if (chosen() && chosen().speakers.length > 1) body.speaker = speaker.value;
    if (language.value) body.language = language.value;
    return {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
  };

  /* ---- playing ---- */

  const page = {state: 'ready', samples: 0, peak: 0, parts: 0, firstMs: 0, file: null};
  window.mxSpeak = page; /* for tests */
  let playing = null;
  const end = state => {
    if (!playing) return;
    const {context, abort} = playing;
    playing = null;
    abort.abort();
    context.close();
    page.state = state;
    listen.disabled = false;
    stop.disabled = true;
  };
  const play = async () => {
    if (!text.value.trim()) return tell(words.empty, true);
    end('stopped');
    const rate = chosen() ? chosen().sample_rate : 24000, began = performance.now();
    /* At the rate of the sound: parts then meet without a click, whatever the rate of the sound card. */
    const context = new AudioContext({sampleRate: rate}), abort = new AbortController();
    const mine = playing = {context, abort};
    let next = 0, odd = null;
    Object.assign(page, {state: 'waiting', samples: 0, peak: 0, parts: 0, firstMs: 0});
    listen.disabled = true;
    stop.disabled = false;
    tell(words.waiting);
    try {
      const answer = await ask('v1/audio/speech', {...wanted({response_format: 'pcm', sample_rate: rate}), signal: abort.signal});
      const reader = answer.body.getReader();
      for (;;) {
        const {done, value} = await reader.read();
        if (done || playing !== mine) break;
        const bytes = odd === null ? value : Uint8Array.of(odd, ...value); /* a sample may be cut in two */
        odd = bytes.length % 2 ? bytes[bytes.length - 1] : null;
        const count = bytes.length >> 1, view = new DataView(bytes.buffer, bytes.byteOffset);
        if (count === 0) continue;
        const buffer = context.createBuffer(1, count, rate), channel = buffer.getChannelData(0);
        for (let i = 0; i < count; i++) {
          channel[i] = view.getInt16(2 * i, true) / 32768;
          page.peak = Math.max(page.peak, Math.abs(channel[i]));
        }
        if (page.samples === 0) page.firstMs = Math.round(performance.now() - began);
        const source = context.createBufferSource();
        source.buffer = buffer;
        source.connect(context.destination);
        next = Math.max(next, context.currentTime + 0.02);
        source.start(next);
        next += count / rate;
        page.samples += count;
        page.parts++;
        page.state = 'speaking';
        tell(say('speaking', (page.samples / rate).toFixed(1), page.firstMs));
      }
      if (playing !== mine) return;
      tell(say('done', (page.samples / rate).toFixed(1), page.firstMs));
      page.state = 'received';
      setTimeout(() => { if (playing === mine) end('done'); }, Math.max(0, 1000 * (next - context.currentTime)) + 100);
    } catch (error) {
      if (playing !== mine) return;
      end('failed');
      tell(error.message, true);
    }
  };
  const save = async () => {
    if (!text.value.trim()) return tell(words.empty, true);
    download.disabled = true;
    try {
      const file = await (await ask('v1/audio/speech', wanted({response_format: format.value}))).blob();
      const link = make('a', {href: URL.createObjectURL(file), download: 'speech.' + format.value});
      page.file = {bytes: file.size, type: file.type, name: link.download};
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      tell(say('saved', (file.size / 1000).toFixed(1)));
    } catch (error) {
      tell(error.message, true);
    } finally {
      download.disabled = false;
    }
  };

  const show = () => { speedSaid.textContent = say('times', Number(speed.value).toFixed(2)); };
  speed.addEventListener('input', show);
  voice.addEventListener('change', fill);
  listen.addEventListener('click', play);
  stop.addEventListener('click', () => { end('stopped'); tell(words.stopped); });
  download.addEventListener('click', save);
  token.addEventListener('change', () => {
    sessionStorage.setItem(kept, token.value);
    load().catch(error => tell(error.message, true));
  });
  show();
  load().catch(error => tell(error.message, true));
})();
