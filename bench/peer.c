/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running a peer in Python and reading its answer; see peer.h.
 */
#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peak.h"

#define NO_PYTHON "no Python environment; make bench-data and make bench-train make it"
#define ANSWER_MS 300000 /* that a script may think; compilers need most */

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

/* Starts the script with its output in a pipe, and its input in another one where that is asked for; -1 when it cannot.
 * Arguments go as they are, through no shell. */
static pid_t script_start(const char *python, const char *script, const char *const arguments[3], int *from, int *to)
{
    char path[2048];
    int out[2] = {-1, -1}, in[2] = {-1, -1};
    snprintf(path, sizeof path, "%s/scripts/bench/peers/%s", MX_SOURCE_FOLDER, script);
    if (pipe2(out, O_CLOEXEC) != 0) return -1;
    if (to != NULL && pipe2(in, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        /* Vectors as wide as those of our kernels: AVX2 beside AVX2, also on a machine that has more. */
        if (peak_vector_bytes() == 32) {
            setenv("ATEN_CPU_CAPABILITY", "avx2", 1);
            setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
            setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
        }
        dup2(out[1], STDOUT_FILENO);
        if (to != NULL) dup2(in[0], STDIN_FILENO);
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(126);
        execl(python, python, path, arguments[0], arguments[1], arguments[2], (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    if (to != NULL) close(in[0]);
    if (child < 0) {
        close(out[0]);
        if (to != NULL) close(in[1]);
        return -1;
    }
    *from = out[0];
    if (to != NULL) *to = in[1];
    return child;
}

bool peer_run(const char *label, const char *script, const char *folder, int core, double seconds,
              struct bench_job *job)
{
    char python[2100], line[512], reason[256] = "";
    int from = -1, status = 0;
    *job = (struct bench_job){0};
    char core_text[16], seconds_text[32];
    snprintf(core_text, sizeof core_text, "%d", core);
    snprintf(seconds_text, sizeof seconds_text, "%.6f", seconds);
    if (!python_find(python, sizeof python)) return left_out(label, NO_PYTHON);
    fflush(stdout);
    const pid_t child =
        script_start(python, script, (const char *const[3]){folder, core_text, seconds_text}, &from, NULL);
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

/* ---- talks ---- */

bool peer_is_open(const struct peer *peer)
{
    return peer->child > 0;
}

void peer_close(struct peer *peer)
{
    int status;
    if (!peer_is_open(peer)) return;
    fclose(peer->to); /* the end of its input is the end of the script */
    fclose(peer->from);
    waitpid(peer->child, &status, 0);
    *peer = (struct peer){0};
}

/* Reads the line that begins with `word`; closes the peer and says why when there is none. */
static bool answer_read(struct peer *peer, const char *word, char *answer, size_t answer_bytes)
{
    char line[1024], reason[256] = "";
    const size_t length = strlen(word);
    struct pollfd wait = {.fd = fileno(peer->from), .events = POLLIN};
    if (poll(&wait, 1, ANSWER_MS) == 0) { /* all that it said before was read: each answer is one line */
        kill(peer->child, SIGKILL);
        snprintf(reason, sizeof reason, "no answer for %d s", ANSWER_MS / 1000);
    }
    while (reason[0] == '\0' && fgets(line, sizeof line, peer->from) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, word, length) == 0 && line[length] == ' ') {
            snprintf(answer, answer_bytes, "%s", line + length + 1);
            return true;
        }
        if (sscanf(line, "SKIP %255[^\n]", reason) == 1) break;
    }
    const char *const label = peer->label;
    peer_close(peer);
    return left_out(label, reason[0] != '\0' ? reason : "it ended");
}

bool peer_open(struct peer *peer, const char *label, const char *script, const char *const arguments[3], char *about,
               size_t about_bytes)
{
    char python[2100];
    int from = -1, to = -1;
    *peer = (struct peer){.label = label};
    if (!python_find(python, sizeof python)) return left_out(label, NO_PYTHON);
    fflush(stdout);
    signal(SIGPIPE, SIG_IGN); /* a peer that ended is detected by its answer */
    peer->child = script_start(python, script, arguments, &from, &to);
    if (peer->child < 0) return left_out(label, "it cannot be started");
    peer->from = fdopen(from, "r");
    peer->to = fdopen(to, "w");
    if (peer->from == NULL || peer->to == NULL) bench_die("no memory for a peer");
    return answer_read(peer, "READY", about, about_bytes);
}

bool peer_ask(struct peer *peer, const char *line, const char *word, char *answer, size_t answer_bytes)
{
    fprintf(peer->to, "%s\n", line);
    fflush(peer->to);
    return answer_read(peer, word, answer, answer_bytes);
}
