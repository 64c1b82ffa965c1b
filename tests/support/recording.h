/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings and folders for tests: tones and odd files, made on the spot.
 */
#ifndef MX_TESTS_RECORDING_H
#define MX_TESTS_RECORDING_H

#include <stddef.h>
#include <stdint.h>

/* A folder of its own below the temporary folder; remove it with folder_remove. The path is the caller's to free. */
char *folder_make(void);
void folder_remove(char *folder);                      /* with all that is in it; frees the path */
void folder_add(const char *folder, const char *name); /* a folder inside it */
/* Writes a file whole. */
void file_put(const char *folder, const char *name, const void *data, size_t bytes);
void file_put_text(const char *folder, const char *name, const char *text);

/* A folder with the files wavs/a.wav, wavs/b.wav and so on, which are no sound. It lies alone in a folder of its own: a
 * manifest also looks for recordings beside its folder. Remove it with letters_remove. */
char *letters_make(int count);
void letters_remove(char *folder); /* frees the path */

/* A tone of `hertz` with the given height, in all channels, after and before silences; `format` as of libsndfile. */
struct tone {
    int rate, channels, format;
    double hertz, height, seconds;
    double silence_before, silence_after;
};
void tone_write(const char *folder, const char *name, const struct tone *tone);

/* A 16-bit mono WAV file with the header that the caller wants: `data_bytes` of audio at `rate`. */
void wav_lie(const char *folder, const char *name, uint32_t rate, uint32_t data_bytes, const int16_t *samples,
             size_t count);

#endif
