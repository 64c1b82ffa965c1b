/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound piece by piece. A piece is cut out of a window that is as much longer, on both sides, as the rounds and
 * projections reach: what its ends do to the sound (reflection, windows that are missing) does not get further. At the
 * ends of the utterance itself the window ends, too. Magnitudes and pitch come from the network once for each frame and
 * stay until the end of the stream.
 *
 * How far: the short frames after the rounds reach fft_size/4 samples further. With n = ⌈fft_size/hop⌉, the spectra of the first ⌈fft_size/(2 hop)⌉ frames of a window are wrong; the sound
 * of w wrong frames is wrong up to sample (w - 1) · hop + fft_size/2; and of that sound w + n - 1 frames are wrong.
 */
#include "myxtts/error.h"
#include "vocoder/sound_internal.h"

int32_t mx_sound_margin(const struct mx_sound *s)
{
    const int32_t size = s->recipe.fft_size, hop = s->recipe.hop, half = (size / 2 + hop - 1) / hop;
    const int32_t repeats = s->options.rounds + s->options.projections;
    const int32_t shorts = (size / MX_VOCODER_BURST_PARTS + hop - 1) / hop;
    return half + repeats * ((size + hop - 1) / hop - 1) + shorts + half - 1;
}

int mx_sound_stream_begin(struct mx_sound *s, struct mx_slice mel, int64_t frames)
{
    if (!s->options.stream)
        return MX_FAIL(MX_ERR_ARGUMENT, "create it with a vocoder and room for a stream",
                       "the maker of sound has no room for a stream");
    if (frames < 0 || frames > s->options.frames_max)
        return MX_FAIL(MX_ERR_ARGUMENT, "speak shorter pieces, or create it with more room",
                       "an utterance of %lld frames exceeds the room for sound of %lld frames", (long long)frames,
                       (long long)s->options.frames_max);
    s->stream.mel = mel;
    s->stream.frames = frames;
    s->stream.known = s->stream.made = 0;
    s->stream.contrasted = false;
    mx_path_begin(&s->path, &s->recipe, s->track);
    return 0;
}

/* Predicts until the track is complete up to frame `end`. */
static int track_fill(struct mx_sound *s, struct mx_stream *stream, int64_t end)
{
    const struct mx_sound_utterance utterance = {.mel = s->stream.mel,
                                                 .frames = s->stream.frames,
                                                 .level = mx_sound_piece(s, MX_SOUND_LEVEL),
                                                 .short_mel = mx_sound_piece(s, MX_SOUND_SHORT_MEL)};
    int rc = 0;
    while (s->path.ready < end) {
        const int64_t known = s->stream.known, frames = s->stream.frames;
        const int64_t wanted = end + MX_PATH_REACH;
        int64_t to = wanted < frames ? wanted : frames;
        if (to > known + MX_SOUND_PIECE) to = known + MX_SOUND_PIECE;
        if (to > known) MX_TRY(mx_sound_predict(s, stream, &utterance, known, to));
        s->stream.known = to;
        if (to == frames) mx_path_end(&s->path);
    }
out:
    return rc;
}

int mx_sound_stream_next(struct mx_sound *s, struct mx_stream *stream, int64_t frames, float **audio, int64_t *count)
{
    const int64_t hop = s->recipe.hop, all = s->stream.frames, margin = mx_sound_margin(s), begin = s->stream.made;
    const int64_t left = mx_sound_samples(&s->recipe, all) - begin * hop;
    int rc = 0;
    *audio = s->audio;
    *count = 0;
    if (frames < 1)
        return MX_FAIL(MX_ERR_ARGUMENT, "ask for 1 frame or more", "a piece of %lld frames is no sound",
                       (long long)frames);
    if (left <= 0) return 0;
    const int64_t end = frames < all - begin ? begin + frames : all; /* the last frame has no sound after it */
    if (!s->stream.contrasted) {
        s->frames[0] = 0;
        s->frames[1] = (int32_t)all;
        MX_TRY(mx_sound_contrast_add(s, stream, 1, &s->stream.mel));
        s->stream.contrasted = true;
    }
    const int64_t first = begin > margin ? begin - margin : 0, last = end + margin + 1 < all ? end + margin + 1 : all;
    struct mx_sound_batch batch = {
        .mel = mx_sound_behind(s->stream.mel, first, s->recipe.bands),
        .level = mx_sound_behind(mx_sound_piece(s, MX_SOUND_LEVEL), first, s->recipe.fft_size / 2 + 1),
        .short_mel = mx_sound_behind(mx_sound_piece(s, MX_SOUND_SHORT_MEL), first * MX_VOCODER_BURST_PARTS,
                                     MX_VOCODER_BURST_BANDS),
        .first = first};
    MX_TRY(track_fill(s, stream, last));
    s->frames[0] = 0;
    s->frames[1] = (int32_t)(last - first);
    mx_sound_batch_lay(s, 1, &batch);
    MX_TRY(mx_sound_run(s, stream, &batch));
    *audio = s->audio + (begin - first) * hop;
    *count = frames * hop < left ? frames * hop : left;
    s->stream.made = end;
out:
    return rc;
}
