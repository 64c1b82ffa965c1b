/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mel and the energy: the recipe and its tables, the device against a discrete Fourier transform in double that is
 * written out here, against librosa (tests/golden), and there and back through a waveform (Griffin–Lim).
 */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/format/safetensors.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "support/sound.h"

#define N     1024
#define HOP   256
#define BINS  (N / 2 + 1)
#define BANDS 80

static void *take(int64_t count, size_t size)
{
    void *ptr = mx_alloc((size_t)count, size);
    assert_non_null(ptr);
    return ptr;
}

/* ---- the recipe, independently ---- */

static double band_edge(int i)
{
    const double bend = 15, step = log(6.4) / 27; /* 1000 Hz is mel 15 */
    const double mel = (bend + log(8000.0 / 1000) / step) * i / (BANDS + 1);
    return mel < bend ? 200.0 / 3 * mel : 1000 * exp((mel - bend) * step);
}

/* weights [BANDS, BINS] */
static double *bands_make(void)
{
    double *weights = take(BANDS * BINS, sizeof *weights);
    for (int b = 0; b < BANDS; b++) {
        const double low = band_edge(b), middle = band_edge(b + 1), high = band_edge(b + 2);
        for (int k = 0; k < BINS; k++) {
            const double hz = (double)k * SOUND_RATE / N;
            const double rise = (hz - low) / (middle - low), fall = (high - hz) / (high - middle);
            weights[b * BINS + k] = fmax(0, fmin(rise, fall)) * 2 / (high - low);
        }
    }
    return weights;
}

static int64_t reflect(int64_t i, int64_t n)
{
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

/* The spectrum of one frame by the definition. */
static void dft(const float *x, int64_t n, int64_t frame, double complex *out)
{
    static double complex turn[N];
    static double windowed[N];
    for (int i = 0; i < N; i++) {
        turn[i] = cexp(-2 * M_PI * I * i / N);
        windowed[i] = (double)x[reflect(frame * HOP - N / 2 + i, n)] * (0.5 - 0.5 * cos(2 * M_PI * i / N));
    }
    for (int k = 0; k < BINS; k++) {
        out[k] = 0;
        for (int i = 0; i < N; i++) out[k] += windowed[i] * turn[k * i % N];
    }
}

/* A frame by the definition, and how far from it a right program may be that computes in float: its transform goes
 * through log2 N stages, in each of which turns, products and sums are rounded by some of the length of the whole
 * spectrum, of which a band sees as much as its weights are long; the band is a sum over bins; and a logarithm errs by
 * up to 7 roundings of itself (tests/test_vec.c). */
struct frame {
    double bands[BANDS], band_slack[BANDS], energy, energy_slack;
};

static void frame_exact(const float *x, int64_t n, int64_t frame, const double *weights, struct frame *out)
{
    static double complex spectrum[BINS];
    const double transform = mx_op_rounding(0, 3, (int64_t)log2(N)), sums = mx_op_rounding(16, 1, BINS);
    const double logarithm = mx_op_rounding(7, 0, 1);
    double power = 0;
    dft(x, n, frame, spectrum);
    for (int k = 0; k < BINS; k++)
        power += creal(spectrum[k]) * creal(spectrum[k]) + cimag(spectrum[k]) * cimag(spectrum[k]);
    for (int b = 0; b < BANDS; b++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < BINS; k++) {
            const double w = weights[b * BINS + k];
            sum += w * cabs(spectrum[k]);
            squares += w * w;
        }
        out->bands[b] = log(fmax(sum, 1e-5));
        out->band_slack[b] =
            sums + transform * sqrt(power * squares) / fmax(sum, 1e-5) + logarithm * fabs(out->bands[b]);
    }
    out->energy = log(fmax(sqrt(power), 1e-5));
    out->energy_slack = sums + transform + logarithm * fabs(out->energy);
}

static void against_definition(const float *x, int64_t n, const char *name)
{
    struct frame exact;
    double *weights = bands_make();
    struct sound_features f;
    sound_features(op_group.device, x, n, &f);
    assert_int_equal(f.frames, 1 + n / HOP);
    for (int64_t frame = 0; frame < f.frames; frame++) {
        frame_exact(x, n, frame, weights, &exact);
        for (int b = 0; b < BANDS; b++) {
            const double want = exact.bands[b], got = (double)f.mel[frame * BANDS + b];
            if (!(fabs(got - want) <= exact.band_slack[b]))
                fail_msg("%s: frame %lld band %d is %.6f, should be %.6f", name, (long long)frame, b, got, want);
        }
        if (!(fabs((double)f.energy[frame] - exact.energy) <= exact.energy_slack))
            fail_msg("%s: energy of frame %lld is %.6f, should be %.6f", name, (long long)frame,
                     (double)f.energy[frame], exact.energy);
    }
    sound_features_release(&f);
    mx_free(weights);
}

static void mel_is_the_definition(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 100, 255, 256, 512, 513, 1023, 1024, 4000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        float *x = sound_voice(counts[i]);
        against_definition(x, counts[i], "voice");
        mx_free(x);
    }
    float *noise = sound_noise(5000, 0.3f, 3), *faint = sound_noise(3000, 1e-6f, 4);
    against_definition(noise, 5000, "noise");
    against_definition(faint, 3000, "faint noise");
    mx_free(noise);
    mx_free(faint);
}

static void an_empty_utterance_has_no_frames(void **state)
{
    (void)state;
    struct sound_features f;
    const float nothing = 0;
    sound_features(op_group.device, &nothing, 0, &f);
    assert_int_equal(f.frames, 0);
    sound_features_release(&f);
}

/* ---- librosa ---- */

static void golden(const struct mx_safetensors *file, const char *name, float *x, int64_t n)
{
    const struct mx_tensor *tensor = mx_safetensors_find(file, name);
    double *weights = bands_make();
    struct sound_features f;
    struct frame exact;
    assert_non_null(tensor);
    sound_features(op_group.device, x, n, &f);
    assert_int_equal(tensor->rank, 2);
    assert_int_equal(tensor->shape[0], f.frames);
    assert_int_equal(tensor->shape[1], BANDS);
    for (int64_t i = 0; i < f.frames * BANDS; i++) {
        float want;
        memcpy(&want, (const char *)tensor->data + 4 * i, 4);
        if (i % BANDS == 0) frame_exact(x, n, i / BANDS, weights, &exact);
        /* librosa computed in double (scripts/test/make_golden.py), and its result was rounded once. */
        if (!(fabs((double)f.mel[i] - (double)want) <= exact.band_slack[i % BANDS]))
            fail_msg("%s: frame %lld band %lld is %.6f, librosa says %.6f", name, (long long)(i / BANDS),
                     (long long)(i % BANDS), (double)f.mel[i], (double)want);
    }
    sound_features_release(&f);
    mx_free(weights);
    mx_free(x);
}

static void mel_is_librosas(void **state)
{
    (void)state;
    struct mx_safetensors *file = NULL;
    if (mx_safetensors_open(MX_SOURCE_FOLDER "/tests/golden/mel.safetensors", &file) < 0)
        fail_msg("%s", mx_error_last()->message);
    golden(file, "voice", sound_voice(3500), 3500);
    golden(file, "chirp", sound_chirp(3000), 3000);
    golden(file, "short", sound_voice(700), 700);
    golden(file, "tiny", sound_voice(300), 300);
    golden(file, "silence", sound_noise(600, 0, 0), 600);
    mx_safetensors_close(file);
}

/* ---- the recipe ---- */

static void recipe_has_a_name_and_a_hash(void **state)
{
    (void)state;
    char text[MX_RECIPE_TEXT_BYTES], hash[MX_RECIPE_HASH_BYTES];
    struct mx_recipe other = *MX_RECIPE_DEFAULT;
    mx_recipe_text(MX_RECIPE_DEFAULT, text);
    assert_string_equal(MX_RECIPE_DEFAULT->name, "mx-mel-22k-80");
    assert_string_equal(text, "version=1 rate=22050 fft_size=1024 hop=256 bands=80 window=hann scale=slaney norm=area "
                              "power=1 pad=reflect log=e low_hz=0.0 high_hz=8e+03 floor=9.999999747378752e-06 "
                              "pitch_low_hz=65.0 pitch_high_hz=5e+02 pitch_silence=0.0020000000949949026 "
                              "pitch_threshold=0.4000000059604645 pitch_octave=0.019999999552965164 "
                              "pitch_jump=0.4000000059604645 pitch_change=0.10000000149011612");
    /* Files that people have carry this number: whoever changes it must mean to. */
    assert_string_equal(mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash), "feed445c33b6ec2f");
    assert_ptr_equal(mx_recipe_find_hash(hash), MX_RECIPE_DEFAULT);
    assert_null(mx_recipe_find_hash("feed445c33b6ec2e"));
    strcpy(other.name, "another name"); /* a name is no property */
    assert_true(mx_recipe_hash(&other) == mx_recipe_hash(MX_RECIPE_DEFAULT));
    other.pitch_jump = nextafterf(other.pitch_jump, 1);
    assert_true(mx_recipe_hash(&other) != mx_recipe_hash(MX_RECIPE_DEFAULT));
}

/* Every row of the table is possible, and found by its name and its hash, which files carry: whoever changes one of these
 * numbers must mean to. */
static void all_recipes_are_found(void **state)
{
    (void)state;
    static const char *const hashes[] = {"feed445c33b6ec2f", "bc1786c14b79ad6f", "782b1bf8cd827de4"};
    char hash[MX_RECIPE_HASH_BYTES];
    assert_int_equal(sizeof hashes / sizeof hashes[0], MX_RECIPES);
    for (int i = 0; i < MX_RECIPES; i++) {
        const struct mx_recipe *const r = &mx_recipes[i];
        struct mx_recipe_tables tables = {0};
        assert_int_equal(mx_recipe_tables_build(r, &tables), 0);
        assert_true(tables.weights >= r->bands); /* no band is without a bin */
        mx_recipe_tables_release(&tables);
        assert_ptr_equal(mx_recipe_find(r->name), r);
        assert_string_equal(mx_recipe_names[i], r->name);
        assert_string_equal(mx_recipe_hash_text(r, hash), hashes[i]);
        assert_ptr_equal(mx_recipe_find_hash(hash), r);
    }
    assert_null(mx_recipe_names[MX_RECIPES]);
    assert_ptr_equal(mx_recipe_find(NULL), MX_RECIPE_DEFAULT);
    assert_null(mx_recipe_find("mx-mel"));
}

static void impossible_recipes_are_refused(void **state)
{
    (void)state;
    struct mx_recipe_tables tables;
    for (int i = 0; i < 12; i++) {
        struct mx_recipe r = *MX_RECIPE_DEFAULT;
        switch (i) {
        case 0:
            r.fft_size = 1000;
            break;
        case 1:
            r.fft_size = 8192;
            break;
        case 2:
            r.hop = 0;
            break;
        case 3:
            r.hop = 1025;
            break;
        case 4:
            r.bands = 0;
            break;
        case 5:
            r.high_hz = 12000;
            break;
        case 6:
            r.low_hz = 8000;
            break;
        case 7:
            r.floor = 0;
            break;
        case 8:
            r.pitch_low_hz = 20;
            break;
        case 9:
            r.pitch_high_hz = 60;
            break;
        case 10:
            r.pitch_jump = NAN;
            break;
        default:
            r.rate = 0;
            break;
        }
        mx_error_clear();
        assert_int_equal(mx_recipe_tables_build(&r, &tables), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
        assert_null(tables.data);
    }
}

/* A straight line over the centres of gravity, given at the bands, must come out straight at the bins between them. */
static void bins_lie_between_bands(void **state)
{
    (void)state;
    struct mx_recipe r = *MX_RECIPE_DEFAULT;
    for (int wide = 0; wide < 2; wide++) {
        struct mx_recipe_tables tables;
        if (wide) r.bands = 500; /* the low ones fall between two bins and have none */
        const int64_t n = r.fft_size, bins = n / 2 + 1, bands = r.bands;
        float *const places = take(3 * bins, sizeof *places);
        double *const centre = take(bands, sizeof *centre), lowest = INFINITY, highest = -INFINITY;
        assert_int_equal(mx_recipe_tables_build(&r, &tables), 0);
        assert_int_equal(mx_recipe_places_build(&r, &tables, places), 0);
        const int32_t *const first = (const int32_t *)(const void *)(tables.data + 3 * n), *const ends = first + bands;
        const float *const weight = tables.data + 3 * n + 2 * bands + 1;
        int empty = 0;
        for (int64_t b = 0; b < bands; b++) {
            double sum = 0, moment = 0;
            for (int32_t i = ends[b]; i < ends[b + 1]; i++) {
                sum += (double)weight[i];
                moment += (double)weight[i] * (first[b] + i - ends[b]);
            }
            empty += sum <= 0;
            centre[b] = sum > 0 ? moment / sum : NAN; /* a band without a bin must not be beside any */
            if (sum > 0) lowest = fmin(lowest, centre[b]);
            if (sum > 0) highest = fmax(highest, centre[b]);
        }
        assert_true((empty > 0) == (wide == 1));
        const int32_t *const low = (const int32_t *)(const void *)places, *const high = low + bins;
        for (int64_t k = 0; k < bins; k++) {
            const double share = (double)places[2 * bins + k], wanted = fmin(highest, fmax(lowest, (double)k));
            assert_true(share >= 0 && share <= 1 && low[k] <= high[k]);
            const double found = (1 - share) * centre[low[k]] + share * centre[high[k]];
            assert_true(fabs(found - wanted) < 1e-5 * (1 + wanted));
        }
        mx_recipe_tables_release(&tables);
        mx_free(centre);
        mx_free(places);
    }
}

static void frames_are_counted(void **state)
{
    (void)state;
    static const int64_t samples[] = {0, 1, 255, 256, 257, 511, 512}, frames[] = {0, 1, 1, 2, 2, 2, 3};
    for (int i = 0; i < 7; i++) assert_int_equal(mx_recipe_frames(MX_RECIPE_DEFAULT, samples[i]), frames[i]);
    /* No cut of the samples has more frames than promised. */
    for (int64_t parts = 1; parts <= 40; parts++) {
        int64_t sum = 0;
        for (int64_t p = 0; p < parts; p++)
            sum += mx_recipe_frames(MX_RECIPE_DEFAULT, 3000 * (p + 1) / parts - 3000 * p / parts);
        assert_true(sum <= mx_recipe_frames_most(MX_RECIPE_DEFAULT, 3000, parts));
    }
    assert_int_equal(mx_recipe_frames_most(MX_RECIPE_DEFAULT, 3, 5), 3);
}

/* ---- energy ---- */

/* Twice as loud is ln 2 more; a steady sine has the energy that Parseval says. */
static void energy_is_the_level(void **state)
{
    (void)state;
    struct sound_features soft, loud;
    float *x = sound_glide(8000, 1000, 1000, 1, 1, 0.2f);
    sound_features(op_group.device, x, 8000, &soft);
    for (int i = 0; i < 8000; i++) x[i] *= 2;
    sound_features(op_group.device, x, 8000, &loud);
    const double want = 0.5 * log((double)N / 2 * (3.0 / 8 * N) * (0.2 * 0.2 / 2)); /* Σ window² is 3/8 N */
    for (int64_t f = 4; f < soft.frames - 4; f++) {
        assert_true(fabs((double)soft.energy[f] - want) < 0.01); /* 1 %: a level, no matter of rounding */
        /* Doubling rounds nothing: what is left are two logarithms, each of some 4 and within 4e-7 of itself. */
        assert_true(fabsf(loud.energy[f] - soft.energy[f] - logf(2)) < 1e-5f);
    }
    sound_features_release(&soft);
    sound_features_release(&loud);
    mx_free(x);
}

/* ---- there and back ---- */

/* In place, size a power of two; inverse without the factor 1/size. */
static void fft(double complex *z, int size, bool inverse)
{
    for (int i = 1, j = 0; i < size; i++) {
        int bit = size >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            const double complex swap = z[i];
            z[i] = z[j];
            z[j] = swap;
        }
    }
    for (int span = 2; span <= size; span *= 2) {
        const double complex root = cexp((inverse ? 2 : -2) * M_PI * I / span);
        for (int base = 0; base < size; base += span) {
            double complex turn = 1;
            for (int k = 0; k < span / 2; k++, turn *= root) {
                const double complex u = z[base + k], v = z[base + k + span / 2] * turn;
                z[base + k] = u + v;
                z[base + k + span / 2] = u - v;
            }
        }
    }
}

/* magnitude [frames, BINS] ≥ 0 whose bands are those of the mel: multiplicative updates for least squares. */
static double *magnitudes_from_mel(const float *mel, int64_t frames, const double *weights)
{
    double *magnitude = take(frames * BINS, sizeof *magnitude);
    for (int64_t f = 0; f < frames; f++) {
        double *m = magnitude + f * BINS, bands[BANDS];
        for (int k = 0; k < BINS; k++) m[k] = 1e-3;
        for (int round = 0; round < 60; round++) {
            double up[BINS] = {0}, down[BINS] = {0};
            for (int b = 0; b < BANDS; b++) {
                bands[b] = 0;
                for (int k = 0; k < BINS; k++) bands[b] += weights[b * BINS + k] * m[k];
                const double want = exp((double)mel[f * BANDS + b]);
                for (int k = 0; k < BINS; k++) {
                    if (weights[b * BINS + k] == 0) continue;
                    up[k] += weights[b * BINS + k] * want;
                    down[k] += weights[b * BINS + k] * bands[b];
                }
            }
            for (int k = 0; k < BINS; k++) m[k] *= down[k] > 0 ? up[k] / down[k] : 0;
        }
    }
    return magnitude;
}

/* A waveform of (frames - 1) · HOP samples with these magnitudes, by Griffin and Lim's iteration. */
static float *waveform(const double *magnitude, int64_t frames)
{
    const int64_t count = (frames - 1) * HOP, padded = count + N;
    double *x = take(padded, sizeof *x), *sum = take(padded, sizeof *sum), *norm = take(padded, sizeof *norm);
    double complex *z = take(N, sizeof *z);
    for (int64_t i = 0; i < padded; i++) x[i] = (double)mx_rng_normal(1, 1, (uint64_t)i) * 0.01;
    for (int round = 0; round < 40; round++) {
        memset(sum, 0, (size_t)padded * sizeof *sum);
        memset(norm, 0, (size_t)padded * sizeof *norm);
        for (int64_t f = 0; f < frames; f++) {
            for (int i = 0; i < N; i++) z[i] = x[f * HOP + i] * (0.5 - 0.5 * cos(2 * M_PI * i / N));
            fft(z, N, false);
            for (int k = 0; k < N; k++) {
                const double size = cabs(z[k]);
                z[k] = magnitude[f * BINS + (k < BINS ? k : N - k)] * (size > 1e-12 ? z[k] / size : 1);
            }
            fft(z, N, true);
            for (int i = 0; i < N; i++) {
                const double w = 0.5 - 0.5 * cos(2 * M_PI * i / N);
                sum[f * HOP + i] += w * creal(z[i]) / N;
                norm[f * HOP + i] += w * w;
            }
        }
        for (int64_t i = 0; i < padded; i++) x[i] = norm[i] > 1e-3 ? sum[i] / norm[i] : 0;
    }
    float *out = take(count, sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = (float)x[N / 2 + i];
    mx_free(x);
    mx_free(sum);
    mx_free(norm);
    mx_free(z);
    return out;
}

/* The mel of a waveform that was made from a mel is that mel, except for what no phases can satisfy. */
static void there_and_back(void **state)
{
    (void)state;
    const int64_t count = 40 * HOP;
    double *weights = bands_make();
    float *x = sound_voice(count);
    struct sound_features before, after;
    sound_features(op_group.device, x, count, &before);
    double *magnitude = magnitudes_from_mel(before.mel, before.frames, weights);
    float *again = waveform(magnitude, before.frames);
    sound_features(op_group.device, again, count, &after);
    assert_int_equal(after.frames, before.frames);
    double error = 0;
    for (int64_t i = 4 * BANDS; i < (before.frames - 4) * BANDS; i++)
        error += fabs((double)(after.mel[i] - before.mel[i])) / (double)((before.frames - 8) * BANDS);
    if (!(error < 0.25)) fail_msg("the mel comes back with a mean error of %.3f", error);
    sound_features_release(&before);
    sound_features_release(&after);
    mx_free(again);
    mx_free(magnitude);
    mx_free(x);
    mx_free(weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipe_has_a_name_and_a_hash),
        cmocka_unit_test(all_recipes_are_found),
        cmocka_unit_test(impossible_recipes_are_refused),
        cmocka_unit_test(bins_lie_between_bands),
        cmocka_unit_test(frames_are_counted),
        cmocka_unit_test(mel_is_the_definition),
        cmocka_unit_test(an_empty_utterance_has_no_frames),
        cmocka_unit_test(mel_is_librosas),
        cmocka_unit_test(energy_is_the_level),
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests(tests, op_group_open, op_group_close);
}
