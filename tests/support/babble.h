/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Something like speech, whose every property is known: syllables of a buzzing voice with a moving pitch and three formants,
 * some of which begin with a hiss, a pause in the middle, silence with a little noise at both ends. For tests of the doctor.
 *
 * Memory: a babble owns its samples; babble_release frees them. A clinic owns its rows.
 */
#ifndef MX_TESTS_SUPPORT_BABBLE_H
#define MX_TESTS_SUPPORT_BABBLE_H

#include "doctor/sound/sound.h"

#define BABBLE_BEGIN 0.30 /* seconds of silence before the first syllable */
#define BABBLE_PAUSE 0.40 /* in the middle */
#define BABBLE_END   0.45 /* after the last */

struct babble {
    float *samples;
    size_t count;
    int rate;
    double pause_at; /* seconds */
};

/* `number` decides about syllables and pitch; RMS of its vowels is about 0.1. */
struct babble babble_make(uint32_t number, int rate);
void babble_release(struct babble *babble);

/* All change the samples. Levels are relative to the vowels. */
void babble_noise(struct babble *babble, double below_db);
void babble_tone(struct babble *babble, double hz, double below_db);
void babble_scale(struct babble *babble, double factor);
void babble_lowpass(struct babble *babble, double hz);
/* A room whose sound dies away by 60 dB in `seconds`, as strong as the direct sound. */
void babble_room(struct babble *babble, double seconds);
/* Noise of `seconds` at a place, over what is there. */
void babble_burst(struct babble *babble, double at, double seconds, double below_db);
/* The silence of the end, put in at a place. */
void babble_wait(struct babble *babble, double at, double seconds);
void babble_cut(struct babble *babble, double begin, double end); /* seconds taken away at both ends */

/* ---- a corpus of babble without files ---- */

#define CLINIC_ROWS 64

struct clinic {
    struct mx_doctor_meter *meter;
    struct mx_audio_reader *reader;
    struct mx_manifest manifest;
    struct mx_check_report report;
    struct mx_utterance utterances[CLINIC_ROWS];
    struct mx_check_row list[CLINIC_ROWS];
    char ids[CLINIC_ROWS][8];
    uint32_t symbols[CLINIC_ROWS][3]; /* each row has its own text until a test changes it */
};

void clinic_open(struct clinic *clinic, uint32_t speakers);
void clinic_close(struct clinic *clinic);
/* Measures the babble as the next row, and releases it; row r is "r<r>". */
const struct mx_doctor_sound *clinic_hear(struct clinic *clinic, struct babble *babble, uint32_t speaker);

#endif
