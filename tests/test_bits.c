/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A fingerprint of all that the CPU computes: one hash for the results of each operation, one for some steps of a
 * training, from the sound on. `test_bits print` writes them, a line each, and scripts/test/isa.sh compares the lines
 * of builds that must agree. As a test it computes everything twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "ops/case.h"
#include "support/small_corpus.h"
#include "support/training_rig.h"

#define USUAL_CASES 6
#define LARGE_CASES 1

/* Operands before and results after the run: where two builds differ in the former alone, the tests do, not the
 * kernels. */
struct bits {
    XXH64_hash_t before, after;
};

static struct bits operation_bits(struct mx_device *device, enum mx_op op)
{
    struct bits bits = {0};
    for (uint64_t seed = 0; seed < USUAL_CASES + LARGE_CASES; seed++) {
        struct mx_op_case c;
        struct mx_op_result result;
        op_case_make(&c, op, 7000 + seed, (struct mx_op_plan){.size = seed < USUAL_CASES ? MX_OP_USUAL : MX_OP_LARGE});
        op_case_must_run(&c, device, &result);
        for (int i = 0; i < c.storage_count; i++) {
            const struct mx_op_storage *const s = &c.storages[i];
            const size_t bytes = (size_t)s->count * (s->type == MX_OP_BF16 ? 2 : 4);
            if (!s->scratch) bits.before = XXH64(s->data, bytes, bits.before);
        }
        for (int i = 0; i < result.count; i++)
            if (!c.storages[result.outputs[i].storage].scratch)
                bits.after = XXH64(result.outputs[i].bits, result.outputs[i].bytes, bits.after);
        mx_op_result_release(&result);
        mx_op_case_release(&c);
    }
    return bits;
}

static struct bits training_bits(void)
{
    const struct mx_trainer_options options = training_options_of(training.recordings);
    struct bits bits = {0};
    struct training_outcome end = training_run(&options);
    bits.after = XXH64(end.arrays.weights, end.floats * sizeof(float), 0);
    for (int i = 0; i < TRAINING_STEPS; i++)
        bits.after = XXH64(&end.reports[i].losses, sizeof end.reports[i].losses, bits.after);
    mx_free(end.arrays.weights);
    return bits;
}

static void same_twice(void **state)
{
    (void)state;
    for (int op = 0; op < MX_OP_COUNT; op++) {
        const struct bits a = operation_bits(training.model, (enum mx_op)op);
        const struct bits b = operation_bits(training.model, (enum mx_op)op);
        if (a.before != b.before || a.after != b.after || a.after == 0)
            fail_msg("%s: another fingerprint the second time", mx_op_name((enum mx_op)op));
    }
    assert_true(training_bits().after == training_bits().after);
}

static void print(void **state)
{
    (void)state;
    for (int op = 0; op < MX_OP_COUNT; op++) {
        const struct bits bits = operation_bits(training.model, (enum mx_op)op);
        printf("bits %-24s %016llx from %016llx\n", mx_op_name((enum mx_op)op), (unsigned long long)bits.after,
               (unsigned long long)bits.before);
    }
    printf("bits %-24s %016llx\n", "training", (unsigned long long)training_bits().after);
}

static void corpus_make(const char *folder)
{
    small_corpus_make(folder, TRAINING_ROWS, 0);
}

static int group_open(void **state)
{
    (void)state;
    return training_open_folder(corpus_make, &training_manifest);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_twice)}, prints[] = {cmocka_unit_test(print)};
    return argc > 1 && strcmp(argv[1], "print") == 0 ? cmocka_run_group_tests(prints, group_open, training_close)
                                                     : cmocka_run_group_tests(tests, group_open, training_close);
}
