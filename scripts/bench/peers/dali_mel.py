# SPDX-License-Identifier: GPL-3.0-or-later
#
# Decode and log-mel with DALI's CPU operators, one thread. See common.py for how it is called.

import common

files, seconds = common.start()
try:
    from nvidia.dali import fn, pipeline_def, types
except Exception as error:  # not installed, or no wheel for this machine
    common.skip(error)

BATCH = 16


@pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
def mel_pipeline():
    encoded, _ = fn.readers.file(files=files, random_shuffle=False, name="reader")
    audio, _ = fn.decoders.audio(encoded, dtype=types.FLOAT, downmix=True)
    spectrum = fn.spectrogram(audio, nfft=common.FFT_SIZE, window_length=common.FFT_SIZE, window_step=common.HOP,
                              center_windows=True, reflect_padding=True, power=1)
    mel = fn.mel_filter_bank(spectrum, sample_rate=float(common.RATE), nfilter=common.BANDS, freq_low=common.LOW_HZ,
                             freq_high=common.HIGH_HZ, mel_formula="slaney", normalize=True)
    return fn.to_decibels(mel, multiplier=2.302585093, reference=1.0, cutoff_db=-11.512925)


pipeline = mel_pipeline()
pipeline.build()
batches = len(files) // BATCH


def work():
    for _ in range(batches):
        pipeline.run()


common.measure(work, seconds * batches * BATCH / len(files))
