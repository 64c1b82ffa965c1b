#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The Python package (python/) with the shared library beside the program $1: installed by pip into an environment of its
# own where packages can be downloaded, otherwise used from its folder with Debian's python3-cffi.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
build=$(dirname "$program")
package=$(realpath "$here/../python")
library=$(find "$build" -maxdepth 1 -name 'libmyxtts.so.*.*.*' | head -n 1)

skip() {
    printf 'skipped: %s\n' "$1"
    exit 77
}
[ -n "$library" ] || skip "this build has no shared library"
command -v python3 >/dev/null || skip "python3 is missing"

# ---- the package ----
# The environment is kept in the build folder: what it downloads does not change.
venv=$build/python
python=$venv/bin/python3
if ! "$python" -c 'import cffi, numpy, pip, flit_core' 2>/dev/null; then
    rm -rf "$venv"
    python3 -m venv "$venv" >venv.log 2>&1 &&
        timeout 120 "$venv/bin/pip" install --quiet --require-hashes -r "$here/../scripts/build/requirements/python.txt" >>venv.log 2>&1 ||
        rm -rf "$venv"
fi
if [ -x "$python" ]; then
    cp -r "$package" package
    find package | sort >before
    check "pip install" "$venv/bin/pip" install --quiet --no-build-isolation --no-deps --force-reinstall ./package
    find package | sort >after
    check "pip leaves nothing in the tree" diff before after
    check "it is installed" "$python" -c "import myxtts; assert myxtts.__file__.startswith('$venv'), myxtts.__file__"
    pythons=(numpy plain)
else
    python=/usr/bin/python3
    "$python" -c 'import cffi' 2>/dev/null ||
        skip "no Python package can be downloaded, and python3-cffi is missing (apt-get install python3-cffi)"
    echo "no Python package can be downloaded: tested with python3-cffi, from the folder, without pip"
    export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
    pythons=(plain)
    ! "$python" -c 'import numpy' 2>/dev/null || pythons=(numpy plain)
fi

# ---- finding the library ----
MYXTTS_LIBRARY=/nowhere.so "$python" -c 'import myxtts; myxtts.Voice("run")' 2>stderr
check "a wrong MYXTTS_LIBRARY is named" grep -q 'LibraryError: cannot load the library that MYXTTS_LIBRARY names' stderr
check "with a hint" grep -q '^hint: correct or unset it' stderr
if ! ldconfig -p | grep -q libmyxtts && [ ! -e /usr/local/lib/libmyxtts.so.0 ]; then
    "$python" -c 'import myxtts; myxtts.Voice("run")' 2>stderr
    check "without a library" grep -q 'LibraryError: cannot load libmyxtts.so.0' stderr
    check "with a hint" grep -q '^hint: .*make install.*MYXTTS_LIBRARY=' stderr
fi
export MYXTTS_LIBRARY=$library

# ---- the structs are those of the headers ----
"$python" - >layout.c <<'PYTHON'
from myxtts._library import ffi
print("#include <stddef.h>\n#include <myxtts/voice.h>")
count = 0
for name in ffi.list_types()[1]:
    struct = ffi.typeof("struct " + name)
    if struct.fields is None:
        continue
    print('_Static_assert(sizeof(struct %s) == %d, "%s");' % (name, ffi.sizeof(struct), name))
    for field, info in struct.fields:
        print('_Static_assert(offsetof(struct %s, %s) == %d && sizeof(((struct %s *)0)->%s) == %d, "%s.%s");'
              % (name, field, info.offset, name, field, ffi.sizeof(info.type), name, field))
        count += 1
assert count >= 30, count
PYTHON
check "the layout was written" grep -q 'mx_sound_chunk, phoneme_count' layout.c
if command -v cc >/dev/null; then
    check "structs have the layout of the headers" cc -std=c17 -fsyntax-only -I"$here/../include" layout.c
fi

# ---- speaking ----
fixture voice run
text='The tone number a. The tone number b.'
done_with synth --checkpoint run --text "$text" --output wanted.wav
done_with synth --checkpoint run --text "$text" --output low.wav --speaker low --speed 1.5 --pitch 2 --volume 0.5 --pauses 2 --seed 7
done_with synth --checkpoint run --text "$text" --output both.wav --speaker-wav wanted.wav --speaker-wav low.wav
done_with synth --checkpoint run --text "$text" --output silent.wav --vocoder griffin-lim --rounds 3 --projections 0

cat >speak.py <<'PYTHON'
import array, gc, sys, threading, warnings, wave
if sys.argv[1] == "plain":
    sys.modules["numpy"] = None  # as if it were not installed
import myxtts

TEXT = "The tone number a. The tone number b."

def frames(path):
    with wave.open(path) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 22050)
        return file.readframes(file.getnframes())

def fails(kind, words, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError("no error: " + words)

wanted = frames("wanted.wav")
with myxtts.Voice("run") as voice:
    # facts
    assert voice.rate == 22050 and voice.languages == ["en"], voice.languages
    assert sorted(voice.speakers) == ["high", "low"], voice.speakers
    assert "en" in repr(voice)
    # the same samples as the program
    samples = voice.speak(TEXT)
    assert myxtts.pcm16(samples) == wanted
    if sys.argv[1] == "plain":
        assert isinstance(samples, array.array) and samples.typecode == "f"
    else:
        import numpy
        assert isinstance(samples, numpy.ndarray) and samples.dtype == numpy.float32
    assert myxtts.pcm16([0.0, 0.5, -0.5]) == array.array("h", [0, 16384, -16384]).tobytes()
    assert myxtts.pcm16([]) == b""
    # chunks
    chunks = list(voice.stream(TEXT))
    assert b"".join(myxtts.pcm16(chunk.samples) for chunk in chunks) == wanted
    at = 0
    for chunk in chunks:
        assert chunk.begin == at and chunk.rate == 22050 and chunk.language == "en"
        at += len(chunk.samples)
    pieces = [chunk for chunk in chunks if chunk.first]
    assert [chunk.piece for chunk in pieces] == [0, 1] and sum(chunk.last for chunk in chunks) == 2
    assert "number" in TEXT[pieces[1].source], pieces[1].source
    phonemes = [phoneme for chunk in chunks for phoneme in chunk.phonemes]
    assert "".join(p.symbol for p in phonemes).count("t") >= 2, phonemes
    assert all(a.begin <= a.end <= b.begin for a, b in zip(phonemes, phonemes[1:])) and phonemes[-1].end <= at
    # options
    low = voice.speak(TEXT, speaker="low", speed=1.5, pitch=2, volume=0.5, pauses=2, seed=7)
    assert myxtts.pcm16(low) == frames("low.wav")
    assert len(voice.speak("<speak>The tone.<break time='2s'/>The tone.</speak>", ssml=True)) > 2 * 22050
    copy = voice.speak(TEXT, reference=samples, reference_rate=22050)
    named = voice.speak(TEXT, reference="wanted.wav")
    both = voice.speak(TEXT, reference=["wanted.wav", "low.wav"])
    assert myxtts.pcm16(both) == frames("both.wav")
    assert myxtts.pcm16(voice.speak(TEXT, reference=[samples, samples], reference_rate=22050)) == myxtts.pcm16(copy)
    assert len(named) > 0 and myxtts.pcm16(named) != wanted
    assert len(copy) > 0 and myxtts.pcm16(copy) != wanted
    # files
    seconds = voice.save("saved.wav", TEXT)
    assert frames("saved.wav") == wanted and abs(seconds - len(wanted) / 44100) < 1e-9
    fails(myxtts.Error, "nothing in the text", voice.save, "saved.wav", "...")
    fails(myxtts.Error, "save writes WAV, and the name ends in .mp3", voice.save, "saved.mp3", TEXT)
    assert frames("saved.wav") == wanted
    assert len(voice.speak("...")) == 0
    # warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        voice.speak("<speak>The <blink>tone.</blink></speak>", ssml=True)
    assert any(issubclass(w.category, myxtts.SpeechWarning) and "blink" in str(w.message) for w in caught), caught
    # errors
    error = fails(myxtts.Error, "nobody", voice.speak, TEXT, speaker="nobody")
    assert error.name == "NOT_FOUND" and error.hint and error.hint in str(error)
    fails(myxtts.Error, "speed", voice.speak, TEXT, speed=100)
    fails(myxtts.Error, "line 1", voice.speak, "<speak>The", ssml=True)
    fails(TypeError, "reference_rate", voice.speak, TEXT, reference=[0.0] * 22050)
    fails(TypeError, "loudness", voice.speak, TEXT, loudness=3)
    assert myxtts.pcm16(voice.speak(TEXT)) == wanted  # after errors
    # threads: each the same samples
    heard = []
    threads = [threading.Thread(target=lambda: heard.append(myxtts.pcm16(voice.speak(TEXT)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == [wanted] * 4
    # ends
    stream = voice.stream("The tone number a. " * 2000)
    assert len(next(stream).samples) > 0
    stream.cancel()
    assert fails(myxtts.Error, "", list, stream).name == "INTERRUPTED"
    assert list(stream) == []
    with voice.stream(TEXT) as stream:
        next(stream)
    assert list(stream) == []
    forgotten = voice.stream(TEXT)
    next(forgotten)
    del forgotten
    gc.collect()
    assert voice._taken == 0, voice._taken
    running = voice.stream("The tone number a. " * 2000)
    next(running)
assert fails(myxtts.Error, "", list, running).name == "INTERRUPTED"  # the voice was closed under it
assert voice._handle is None
fails(ValueError, "closed", voice.speak, TEXT)
voice.close()
fails(myxtts.Error, "nowhere", myxtts.Voice, "nowhere")
fails(myxtts.Error, "", myxtts.Voice, b"no voice")
with myxtts.Voice("run", vocoder="griffin-lim", rounds=3, projections=0) as voice:
    assert myxtts.pcm16(voice.speak(TEXT)) == frames("silent.wav")
print("all passed")
PYTHON
for kind in "${pythons[@]}"; do
    "$python" -W error::ResourceWarning speak.py "$kind" >stdout 2>stderr
    check "with $kind: exit code $?" grep -q '^all passed$' stdout
done

# ---- a voice file, from its path and from memory ----
done_with export run --precision fp32 --output small.voice.safetensors
done_with synth --checkpoint small.voice.safetensors --text "$text" --output file.wav
"$python" - >stdout 2>stderr <<'PYTHON'
import myxtts, wave
with wave.open("file.wav") as file:
    wanted = file.readframes(file.getnframes())
text = "The tone number a. The tone number b."
for source in "small.voice.safetensors", open("small.voice.safetensors", "rb").read():
    with myxtts.Voice(source) as voice:
        assert myxtts.pcm16(voice.speak(text)) == wanted
print("all passed")
PYTHON
check "voice files" grep -q '^all passed$' stdout

# ---- a library under another prefix finds the voices that are installed there ----
mkdir -p prefix/lib prefix/share/myxtts/voices
cp "$library" prefix/lib/libmyxtts.so.0
cp small.voice.safetensors prefix/share/myxtts/voices/ann.voice.safetensors
check "voices of its prefix" env MYXTTS_LIBRARY="$folder/prefix/lib/libmyxtts.so.0" MYXTTS_VOICES='' HOME=/nowhere XDG_DATA_HOME='' \
    "$python" -c 'import myxtts; assert myxtts.Voice("ann").speakers'

# ---- the page about it ----
check "the version is that of the program" grep -q "^version = \"$("$program" --version | cut -d ' ' -f 2)\"$" "$package/pyproject.toml"
check "in both places" grep -q "^__version__ = \"$("$program" --version | cut -d ' ' -f 2)\"$" "$package/myxtts/__init__.py"

finish
