#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# For cut.sh: makes long recordings with ground truth, and judges what 'myxtts corpus cut' made of them.
#
#     cut.py make CORPUS SPEAKER FOREIGN SECONDS SEED DIR    DIR/long.wav, DIR/long.txt, DIR/truth.json
#     cut.py judge DIR CUT                                   prints a JSON object: counts of one recording
#     cut.py tell JSON                                       the shares of one recording in a line
#     cut.py total JSON SPEED FILE...                        adds them up, prints held and missed, writes JSON
#
# A long recording is recordings of one speaker in random order, trimmed, with pauses of 0.25 to 1.2 s and noise 50 dB
# below full scale. One place in 25 has a recording of another speaker in another language, which is not in the text;
# at one in 25 the text has a sentence that nobody says. The same sentence is never used twice.

import csv
import json
import os
import random
import sys
import wave
from array import array

RATE, WINDOW, MARGIN = 22050, 220, 0.1


def read(path):
    with wave.open(path) as f:
        assert f.getsampwidth() == 2 and f.getnchannels() == 1, path
        data = array('h')
        data.frombytes(f.readframes(f.getnframes()))
        return data, f.getframerate()


def resample(data, rate):
    if rate == RATE:
        return data
    count = int(len(data) * RATE / rate)
    out = array('h', bytes(2 * count))
    for i in range(count):
        at = i * rate / RATE
        k = int(at)
        share = at - k
        b = data[k + 1] if k + 1 < len(data) else data[k]
        out[i] = int(data[k] * (1 - share) + b * share)
    return out


def trim(data):
    levels = [sum(x * x for x in data[i:i + WINDOW]) / WINDOW for i in range(0, len(data) - WINDOW + 1, WINDOW)]
    if not levels or max(levels) < 32768 * 32768 * 10 ** -5.4:
        return None
    loud = [i for i, level in enumerate(levels) if level >= max(levels) * 10 ** -3.2]
    return data[loud[0] * WINDOW:(loud[-1] + 1) * WINDOW]


def rows(corpus, speaker):
    found = []
    for name in ('metadata_train.csv', 'metadata_eval.csv'):
        with open(os.path.join(corpus, name), encoding='utf-8') as f:
            for line in f:
                part = line.rstrip('\n').split('|')
                if len(part) > 2 and part[2] == speaker:
                    path = os.path.join(corpus, part[0])
                    found.append((path if os.path.exists(path) else path + '.wav', part[1]))
    return found


def sentence(text):
    text = ' '.join(text.split())
    text = text[0].upper() + text[1:]
    return text if text[-1] in '.!?' else text + '.'


def make(corpus, speaker, foreign, seconds, seed, folder):
    draw = random.Random(int(seed))
    own, other, seen = [], rows(corpus, foreign), set()
    for path, text in rows(corpus, speaker):
        if len(text.split()) >= 3 and text.lower() not in seen and not any(c in text for c in '[]<>():'):
            seen.add(text.lower())
            own.append((path, sentence(text)))
    draw.shuffle(own)
    draw.shuffle(other)
    sound, items, text = array('h'), [], ''
    noise = array('h', (int(draw.gauss(0, 100)) for _ in range(10 * RATE)))

    def pause():
        start = draw.randrange(len(noise) // 2)
        sound.extend(noise[start:start + int(draw.uniform(0.25, 1.2) * RATE)])

    def put(path):
        data, rate = read(path)
        data = trim(resample(data, rate))
        if data is None or len(data) < RATE // 2:
            return None
        start = draw.randrange(len(noise) // 2)
        begin = len(sound)
        sound.extend(max(-32768, min(32767, x + noise[(start + i) % len(noise)])) for i, x in enumerate(data))
        return begin / RATE, len(sound) / RATE

    def say(words):
        nonlocal text
        begin = len(text.split())
        text += words + ('\n\n' if draw.random() < 0.15 else ' ')
        return begin, len(text.split())

    pause()
    while own and len(sound) < float(seconds) * RATE:
        chance = draw.random()
        if chance < 0.04 and other:
            place = put(other.pop()[0])
            if place:
                items.append({'kind': 'foreign', 'begin': place[0], 'end': place[1]})
                pause()
            continue
        path, words = own.pop()
        if chance < 0.08:
            first, last = say(words)
            items.append({'kind': 'unsaid', 'first': first, 'last': last})
            continue
        place = put(path)
        if place:
            first, last = say(words)
            items.append({'kind': 'said', 'begin': place[0], 'end': place[1], 'first': first, 'last': last})
            pause()
    os.makedirs(folder, exist_ok=True)
    with wave.open(os.path.join(folder, 'long.wav'), 'wb') as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(RATE)
        f.writeframes(sound.tobytes())
    with open(os.path.join(folder, 'long.txt'), 'w', encoding='utf-8') as f:
        f.write(text)
    with open(os.path.join(folder, 'truth.json'), 'w') as f:
        json.dump({'items': items, 'words': text.split(), 'seconds': len(sound) / RATE}, f)


def overlap(a, b, c, d):
    return max(0.0, min(b, d) - max(a, c))


def judge(folder, cut):
    truth = json.load(open(os.path.join(folder, 'truth.json')))
    items, words = truth['items'], truth['words']
    item_of = [None] * len(words)
    for item in items:
        for w in range(item.get('first', 0), item.get('last', 0)):
            item_of[w] = item
    times = {}
    with open(os.path.join(cut, 'cut.tsv'), encoding='utf-8') as f:
        for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            times[row['row']] = (float(row['begin']), float(row['end']), float(row['score']))
    result = dict.fromkeys(['boundaries', 'boundaries_good', 'words', 'words_wrong', 'passages', 'passages_found',
                            'good_words', 'alarms'], 0)
    result.update(speech=0.0, speech_used=0.0, seconds=truth['seconds'], rows=0)
    covered, used, at = [], set(), 0
    with open(os.path.join(cut, 'metadata.csv'), encoding='utf-8') as f:
        for line in f:
            name, text = line.rstrip('\n').split('|')
            own = text.split()
            while words[at:at + len(own)] != own:
                at += 1
                assert at < len(words), 'a row whose text is no part of the text: ' + line
            begin, end, score = times[name]
            result['rows'] += 1
            covered.append((begin, end))
            for w in range(at, at + len(own)):
                item = item_of[w]
                used.add(w)
                result['words'] += 1
                if item['kind'] != 'said' or overlap(begin, end, item['begin'], item['end']) < 0.1:
                    result['words_wrong'] += 1
            first, last = item_of[at], item_of[at + len(own) - 1]
            if first['kind'] == 'said' and first['first'] == at:
                result['boundaries'] += 1
                result['boundaries_good'] += abs(begin + MARGIN - first['begin']) <= 0.05
            if last['kind'] == 'said' and last['last'] == at + len(own):
                result['boundaries'] += 1
                result['boundaries_good'] += abs(end - MARGIN - last['end']) <= 0.05
            at += len(own)
    flagged = set()
    with open(os.path.join(cut, 'left_out.tsv'), encoding='utf-8') as f:
        for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            own = row['text'].split()
            if own and row['reason'] in ('missing in the sound', 'the text does not fit the sound'):
                for k in range(len(words)):
                    if words[k:k + len(own)] == own and not used.intersection(range(k, k + len(own))):
                        flagged.update(range(k, k + len(own)))
                        break
    for item in items:
        if item['kind'] == 'said':
            result['speech'] += item['end'] - item['begin']
            result['speech_used'] += sum(overlap(item['begin'], item['end'], *c) for c in covered)
            result['good_words'] += item['last'] - item['first']
            result['alarms'] += sum(w in flagged for w in range(item['first'], item['last']))
        elif item['kind'] == 'foreign':
            result['passages'] += 1
            inside = sum(overlap(item['begin'], item['end'], *c) for c in covered)
            result['passages_found'] += inside < 0.2 * (item['end'] - item['begin'])
        else:
            result['passages'] += 1
            inside = sum(w in used for w in range(item['first'], item['last']))
            result['passages_found'] += inside <= 0.2 * (item['last'] - item['first'])
    print(json.dumps(result))


def share(a, b):
    return 100.0 * a / b if b else 0.0


def shares(sums):
    return [
        ('boundaries within 50 ms', share(sums['boundaries_good'], sums['boundaries']), '>=', 97, '%'),
        ('words in the wrong row', share(sums['words_wrong'], sums['words']), '<=', 0.5, '%'),
        ('speech used', share(sums['speech_used'], sums['speech']), '>=', 95, '%'),
        ('wrong passages found', share(sums['passages_found'], sums['passages']), '>=', 90, '%'),
        ('false alarms', share(sums['alarms'], sums['good_words']), '<=', 1, '%'),
    ]


def tell(name):
    print(', '.join('%s %.2f' % bar[:2] for bar in shares(json.load(open(name)))))


def total(path, speed, names):
    sums = {}
    for name in names:
        for key, value in json.load(open(name)).items():
            sums[key] = sums.get(key, 0) + value
    out = {'counts': sums, 'bars': []}
    for name, value, sign, bar, unit in shares(sums) + [('speed', float(speed), '>=', 200, 'x real time')]:
        held = value >= bar if sign == '>=' else value <= bar
        print('%-24s %8.2f %-12s bar %s %-5g %s' % (name, value, unit, sign, bar, 'held' if held else 'missed'))
        out['bars'].append({'name': name, 'value': value, 'bar': bar, 'held': held})
    with open(path, 'w') as f:
        json.dump(out, f, indent=1)


if sys.argv[1] == 'make':
    make(*sys.argv[2:8])
elif sys.argv[1] == 'judge':
    judge(*sys.argv[2:4])
elif sys.argv[1] == 'tell':
    tell(sys.argv[2])
else:
    total(sys.argv[2], sys.argv[3], sys.argv[4:])
