/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every kernel of the dialect goes through NVRTC and ptxas for each generation of GPUs, with the options that the CUDA
 * backend gives. What they say about registers, shared memory and spills is written to kernels.md in the working folder
 * and printed. Architectures that this NVRTC does not know are named. MYXTTS_TEST_ARCHS ("80 120") chooses some of them.
 * Needs no GPU and nothing of CUDA to build.
 *
 * NVRTC: see support/nvrtc.h. ptxas: in bin beside its lib64, then in $PATH, but not for an NVRTC in venv, whose version is
 * another. Without NVRTC the test is skipped (exit code 77), without ptxas only what it would tell.
 * `test_nvrtc find` only says whether there is one, with the exit code; `test_nvrtc ptx ARCH` prints what it makes of the
 * kernels for a generation, and fails for one that it does not know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/kernels/launch.h"
#include "support/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED     77
#define TEXT_BYTES  512
#define ARCHS_MAX   64
#define OPTIONS_MAX 12
/* Of a block and of a lane, for every compute capability from 7.0 to 12.1 (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"); registers are given out to 32 lanes at a time, in units of 256. */
#define REGISTERS_BLOCK 65536
#define REGISTERS_LANE  255
#define REGISTERS_UNIT  8
#define SPILL_MOST      32 /* bytes that a kernel may keep outside of registers: no more than a few numbers */

static const int archs[] = {70, 75, 80, 86, 89, 90, 100, 120};
#define ARCHS (sizeof archs / sizeof *archs)

struct figures {
    bool compiled, assembled;
    int registers, shared_bytes, spill_bytes;
};

struct outcome {
    bool known;           /* to this NVRTC */
    char log[TEXT_BYTES]; /* of the first thing that failed; "" if nothing did */
    struct figures kernels[MX_K_COUNT];
};

static struct nvrtc nvrtc;
static char ptxas[1100]; /* "": not found */
static struct outcome outcomes[ARCHS];
static struct mx_kernel_tuning tuning;

/* ---- finding ---- */

static bool ptxas_at(const char *folder)
{
    snprintf(ptxas, sizeof ptxas, "%s/ptxas", folder);
    if (access(ptxas, X_OK) != 0) ptxas[0] = '\0';
    return ptxas[0] != '\0';
}

static void ptxas_find(void)
{
    const char *path = getenv("PATH");
    while (path && *path && !ptxas[0]) {
        char folder[512];
        const size_t length = strcspn(path, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)length, path);
        ptxas_at(folder);
        path += length + (path[length] == ':');
    }
}

static bool nvrtc_find(bool *installed)
{
    struct nvrtc_place place;
    if (!nvrtc_place_find(&place) || !nvrtc_load(&nvrtc, place.path)) return false;
    if (place.tools[0]) ptxas_at(place.tools);
    *installed = place.installed;
    return true;
}

static bool arch_asked(int arch)
{
    const char *at = getenv("MYXTTS_TEST_ARCHS");
    char *end;
    if (!at) return true;
    for (long next; (next = strtol(at, &end, 10)) > 0; at = end)
        if (next == arch) return true;
    return false;
}

static bool arch_known(int arch)
{
    int all[ARCHS_MAX], count = nvrtc_archs(&nvrtc, all, ARCHS_MAX);
    while (count > 0 && all[count - 1] != arch) count--;
    return count > 0;
}

/* ---- one architecture, in a process of its own ---- */

static char *compile(int arch, char log[TEXT_BYTES])
{
    char defines[sizeof tuning.options];
    const char *options[OPTIONS_MAX] = {"--std=c++17"};
    int count = 1;
    snprintf(defines, sizeof defines, "%s", tuning.options);
    for (char *word = strtok(defines, " "); word && count < OPTIONS_MAX; word = strtok(NULL, " "))
        options[count++] = word;
    return nvrtc_compile(&nvrtc, (const char *)mx_kernel_source, arch, count, options, log, TEXT_BYTES);
}

/* One line of ptxas -v, which tells of one kernel in three. */
static void line_read(const char *line, struct outcome *out, int *kernel)
{
    const char *const entry = strstr(line, "Compiling entry function '");
    const char *const spill = strstr(line, "bytes stack frame, "), *const used = strstr(line, ": Used ");
    if (entry) {
        char name[64] = "";
        sscanf(entry, "Compiling entry function '%63[^']", name);
        for (*kernel = MX_K_COUNT - 1; *kernel >= 0; --*kernel)
            if (strcmp(mx_kernel_name((enum mx_kernel_id) * kernel), name) == 0) break;
    }
    if (*kernel < 0) return;
    struct figures *const figures = &out->kernels[*kernel];
    if (spill) sscanf(spill, "bytes stack frame, %d", &figures->spill_bytes);
    if (!used) return;
    figures->assembled = sscanf(used, ": Used %d registers", &figures->registers) == 1;
    for (const char *at = used; (at = strchr(at, ',')); at++) {
        int bytes;
        char kind[8];
        if (sscanf(at, ", %d bytes %7[a-z]", &bytes, kind) == 2 && strcmp(kind, "smem") == 0)
            figures->shared_bytes = bytes;
    }
}

static void assemble(int arch, const char *ptx, struct outcome *out)
{
    char path[] = "nvrtc-XXXXXX", command[2048], line[1024];
    const int file = mkstemp(path);
    const size_t bytes = strlen(ptx);
    int kernel = -1;
    if (file < 0 || write(file, ptx, bytes) != (ssize_t)bytes) {
        snprintf(out->log, TEXT_BYTES, "the working folder cannot be written");
        return;
    }
    close(file);
    snprintf(command, sizeof command, "'%s' -v -arch=sm_%d -o /dev/null %s 2>&1", ptxas, arch, path);
    FILE *const said = popen(command, "r");
    while (said && fgets(line, sizeof line, said)) {
        line_read(line, out, &kernel);
        if (strstr(line, "error") && !out->log[0]) snprintf(out->log, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, line);
    }
    if ((!said || pclose(said) != 0) && !out->log[0]) snprintf(out->log, TEXT_BYTES, "ptxas failed");
    unlink(path);
}

static void arch_run(int arch, struct outcome *out)
{
    char *const ptx = compile(arch, out->log);
    if (!ptx) return;
    for (int k = 0; k < MX_K_COUNT; k++) {
        char entry[80];
        snprintf(entry, sizeof entry, ".entry %s(", mx_kernel_name((enum mx_kernel_id)k));
        out->kernels[k].compiled = strstr(ptx, entry) != NULL;
    }
    if (ptxas[0]) assemble(arch, ptx, out);
    free(ptx);
}

/* All architectures, as many at a time as there are cores. Each writes its outcome to a pipe. */
static int setup(void **state)
{
    (void)state;
    int pipes[ARCHS];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t done = 0;
    for (size_t i = 0; i <= ARCHS; i++) {
        while (done < i && (i == ARCHS || (long)(i - done) >= cores)) {
            char *to = (char *)&outcomes[done];
            size_t left = sizeof outcomes[done];
            for (ssize_t part; left > 0 && (part = read(pipes[done], to, left)) > 0; left -= (size_t)part) to += part;
            close(pipes[done++]);
            wait(NULL);
            if (left > 0) return -1;
        }
        if (i == ARCHS) break;
        int ends[2];
        if (pipe(ends) != 0) return -1;
        pipes[i] = ends[0];
        const pid_t child = fork();
        if (child == 0) {
            outcomes[i].known = arch_asked(archs[i]) && arch_known(archs[i]);
            if (outcomes[i].known) arch_run(archs[i], &outcomes[i]);
            const char *from = (const char *)&outcomes[i];
            size_t left = sizeof outcomes[i];
            for (ssize_t part; left > 0 && (part = write(ends[1], from, left)) > 0; left -= (size_t)part) from += part;
            _exit(left > 0);
        }
        close(ends[1]);
        if (child < 0) return -1;
    }
    return 0;
}

/* ---- what is asked of them ---- */

static void test_compiles(void **state)
{
    (void)state;
    int known = 0;
    for (size_t i = 0; i < ARCHS; i++) {
        if (!outcomes[i].known) continue;
        known++;
        if (outcomes[i].log[0]) fail_msg("compute_%d: %s", archs[i], outcomes[i].log);
        for (int k = 0; k < MX_K_COUNT; k++)
            if (!outcomes[i].kernels[k].compiled)
                fail_msg("compute_%d: %s is not in what NVRTC built", archs[i], mx_kernel_name((enum mx_kernel_id)k));
    }
    assert_true(known > 0);
}

static void test_fits(void **state)
{
    (void)state;
    if (!ptxas[0]) {
        print_message("ptxas was not found: registers and shared memory are not known\n");
        skip();
    }
    for (size_t i = 0; i < ARCHS; i++)
        for (int k = 0; k < MX_K_COUNT; k++) {
            const struct figures *const figures = &outcomes[i].kernels[k];
            const char *const name = mx_kernel_name((enum mx_kernel_id)k);
            if (!outcomes[i].known) continue;
            if (!figures->assembled) fail_msg("sm_%d: ptxas does not tell of %s", archs[i], name);
            if (figures->shared_bytes > MX_KERNEL_LOCAL_BYTES)
                fail_msg("sm_%d: %s takes %d bytes of shared memory", archs[i], name, figures->shared_bytes);
            const int lanes = mx_kernel_lanes(&tuning, (enum mx_kernel_id)k);
            const int rounded = (figures->registers + REGISTERS_UNIT - 1) / REGISTERS_UNIT * REGISTERS_UNIT;
            if (figures->registers > REGISTERS_LANE || rounded * ((lanes + 31) / 32 * 32) > REGISTERS_BLOCK)
                fail_msg("sm_%d: %s takes %d registers in each of %d lanes", archs[i], name, figures->registers, lanes);
            if (figures->spill_bytes > SPILL_MOST)
                fail_msg("sm_%d: %s spills %d bytes", archs[i], name, figures->spill_bytes);
        }
}

/* ---- the table ---- */

static const char *missing_reason(int arch)
{
    return arch_asked(arch) ? "not known to this NVRTC" : "left out by MYXTTS_TEST_ARCHS";
}

static void table_write(FILE *file)
{
    fprintf(file,
            "Registers of a lane for each kernel and architecture (+ bytes spilled to memory), as told by NVRTC %d.%d",
            nvrtc.major, nvrtc.minor);
    fprintf(file, " and `ptxas -v`. Shared memory: bytes of a group, the most of all architectures.\n\n");
    fprintf(file, "| kernel | lanes | shared memory |");
    for (size_t i = 0; i < ARCHS; i++)
        if (outcomes[i].known) fprintf(file, " sm_%d |", archs[i]);
    fprintf(file, "\n|---|--:|--:|");
    for (size_t i = 0; i < ARCHS; i++)
        if (outcomes[i].known) fprintf(file, "--:|");
    fprintf(file, "\n");
    for (int k = 0; k < MX_K_COUNT; k++) {
        int shared = 0;
        for (size_t i = 0; i < ARCHS; i++)
            if (outcomes[i].kernels[k].shared_bytes > shared) shared = outcomes[i].kernels[k].shared_bytes;
        fprintf(file, "| %s | %d | %d |", mx_kernel_name((enum mx_kernel_id)k),
                mx_kernel_lanes(&tuning, (enum mx_kernel_id)k), shared);
        for (size_t i = 0; i < ARCHS; i++) {
            const struct figures *const figures = &outcomes[i].kernels[k];
            if (!outcomes[i].known) continue;
            fprintf(file, figures->spill_bytes ? " %d + %d |" : " %d |", figures->registers, figures->spill_bytes);
        }
        fprintf(file, "\n");
    }
    for (size_t i = 0; i < ARCHS; i++)
        if (!outcomes[i].known) fprintf(file, "\ncompute_%d: %s.\n", archs[i], missing_reason(archs[i]));
}

static void test_table(void **state)
{
    (void)state;
    FILE *const file = fopen("kernels.md", "w");
    assert_non_null(file);
    if (ptxas[0]) table_write(file);
    assert_int_equal(fclose(file), 0);
    if (ptxas[0]) table_write(stdout);
    for (size_t i = 0; i < ARCHS && !ptxas[0]; i++)
        print_message("compute_%d: %s\n", archs[i], outcomes[i].known ? "compiles" : missing_reason(archs[i]));
}

static int ptx_print(int arch)
{
    char log[TEXT_BYTES] = "";
    char *const ptx = arch_known(arch) ? compile(arch, log) : NULL;
    if (ptx) fputs(ptx, stdout);
    free(ptx);
    return ptx ? 0 : 1;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_compiles),
        cmocka_unit_test(test_fits),
    };
    bool installed = false;
    const bool found = nvrtc_find(&installed);
    if (count > 1 && strcmp(arguments[1], "find") == 0) return found ? 0 : 1;
    if (!found) {
        fprintf(stderr,
                "skipped: NVRTC was not found (libnvrtc.so.13, .12 or .11.2); 'scripts/build/nvrtc.sh FOLDER' takes "
                "it from PyPI into this build folder\n");
        return SKIPPED;
    }
    if (!ptxas[0] && !installed) ptxas_find();
    mx_kernel_tuning_choose(&tuning, false, 1024);
    if (count > 2 && strcmp(arguments[1], "ptx") == 0) return ptx_print(atoi(arguments[2]));
    return cmocka_run_group_tests(tests, setup, NULL);
}
