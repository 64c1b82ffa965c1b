/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speaks a text with a trained voice, and sends the sound to standard output as it is made:
 *
 *     ./speak my.voice.safetensors 'Good morning.' | aplay -t raw -f S16_LE -r 22050
 *
 * The voice may also be a run folder or a checkpoint. `make install` installs libmyxtts; then this program builds with
 *
 *     cc speak.c $(pkg-config --cflags --libs myxtts) -o speak
 */
#include <stdio.h>
#include <string.h>

#include <myxtts/voice.h>

/* Writes a part of the speech as 16-bit integers. */
static int chunk_write(const struct mx_sound_chunk *chunk)
{
    int16_t block[1024];
    for (size_t at = 0; at < chunk->count;) {
        const size_t n = chunk->count - at < 1024 ? chunk->count - at : 1024;
        mx_samples_pcm16(chunk->samples + at, n, block);
        if (fwrite(block, sizeof *block, n, stdout) != n)
            return mx_error_set(MX_ERR_IO, __FILE__, __LINE__, NULL, "cannot write to standard output");
        at += n;
    }
    if (chunk->first) fprintf(stderr, "%8.3f s: %s\n", (double)chunk->begin / chunk->rate, chunk->text);
    return 0;
}

int main(int argc, char **argv)
{
    struct mx_voice *voice = NULL;
    struct mx_speaker *speaker = NULL;
    const struct mx_sound_chunk *chunk;
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: speak VOICE TEXT [SPEAKER] > samples\n");
        return 1;
    }
    how.speaker = argv[3]; /* NULL: the first one */
    int rc = mx_voice_open(argv[1], NULL, &voice);
    if (rc == 0) rc = mx_speaker_create(voice, &speaker);
    if (rc == 0) rc = mx_speaker_begin(speaker, argv[2], strlen(argv[2]), &how);
    while (rc >= 0 && (rc = mx_speaker_next(speaker, &chunk)) > 0) rc = chunk_write(chunk);
    for (size_t i = 0; speaker != NULL && i < mx_speaker_warnings(speaker); i++)
        fprintf(stderr, "warning: %s\n", mx_speaker_warning(speaker, i));
    if (rc < 0) fprintf(stderr, "error: %s\n  hint: %s\n", mx_error_last()->message, mx_error_last()->hint);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    return rc < 0 ? mx_error_exit_code(rc) : 0;
}
