/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running a peer in Python and reading its answer; see peer.h.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* <folder of this program>/venv/bin/python */
static bool python_find(char *out, size_t size)
{
    char program[2048];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return false;
    program[length] = '\0';
    char *const slash = strrchr(program, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return snprintf(out, size, "%s/venv/bin/python", program) < (int)size && access(out, X_OK) == 0;
}

static bool left_out(const char *label, const char *why)
{
    printf("  %s is left out: %s\n", label, why);
    return false;
}

/* Starts the script with its output in a pipe; -1 when it cannot. Arguments go as they are, through no shell. */
static pid_t script_start(const char *python, const char *script, const char *folder, int core, double seconds,
                          int *from)
{
    char path[2048], core_text[16], seconds_text[32];
    int ends[2];
    snprintf(path, sizeof path, "%s/bench/peers/%s", MX_SOURCE_FOLDER, script);
    snprintf(core_text, sizeof core_text, "%d", core);
    snprintf(seconds_text, sizeof seconds_text, "%.6f", seconds);
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(126);
        execl(python, python, path, folder, core_text, seconds_text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (child < 0) close(ends[0]);
    *from = ends[0];
    return child;
}

bool peer_run(const char *label, const char *script, const char *folder, int core, double seconds,
              struct bench_job *job)
{
    char python[2100], line[512], reason[256] = "";
    int from = -1, status = 0;
    *job = (struct bench_job){0};
    if (!python_find(python, sizeof python)) return left_out(label, "no Python environment; make bench-data makes it");
    fflush(stdout);
    const pid_t child = script_start(python, script, folder, core, seconds, &from);
    FILE *const answers = child > 0 ? fdopen(from, "r") : NULL;
    if (answers == NULL) return left_out(label, "it cannot be started");
    while (fgets(line, sizeof line, answers) != NULL) {
        if (sscanf(line, "RATE %lf %lf", &job->best, &job->median) == 2) continue;
        if (sscanf(line, "SKIP %255[^\n]", reason) == 1) continue;
    }
    fclose(answers);
    waitpid(child, &status, 0);
    if (job->best > 0) return true;
    return left_out(label, reason[0] != '\0' ? reason : "it failed");
}
