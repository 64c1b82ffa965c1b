/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the writers of pages about the program, see docgen.h. Owns no memory.
 */
#include "cli/docgen/docgen.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

const struct mx_docgen_variable mx_docgen_variables[] = {
    {"MYXTTS_ISA",
     "Kernels that a portable build uses instead of the best ones for this machine: base, avx2 or avx512."},
    {"MYXTTS_BF16", "How CPUs multiply bf16 numbers: amx, avx512 or off. Default: the fastest available."},
    {"MYXTTS_CACHE", "Folder for compiled OpenCL kernels. Default: myxtts in $XDG_CACHE_HOME or ~/.cache."},
    {"MYXTTS_VOICES", "Folders, separated by colons, that are searched for installed voices before all others; "
                      "'myxtts voices' lists them."},
    {"MYXTTS_OPENCL_DOUBLE", "off: add up in pairs of floats on all OpenCL devices, as on those without double "
                             "precision; for tests."},
    {"MYXTTS_CLBLAST", "1: CLBlast multiplies matrices on all OpenCL devices, including those of CPU type, and must be "
                       "installed. 0: on none. Default: on GPUs, if it is installed."},
    {"MYXTTS_DASHBOARD_TOKEN", "Token for '--dashboard' if neither '--dashboard-token-file' nor '--dashboard-token' is "
                               "given; unlike the latter, it is not "
                               "visible in the process list."},
    {"MYXTTS_SERVE_TOKEN", "Token of 'myxtts serve' if neither '--token' nor '--token-file' is given."},
    {"NOTIFY_SOCKET", "Set by systemd: 'myxtts serve' notifies it when the server is ready, and when it ends."},
    {"MYXTTS_SUMS",
     "How several processes sum gradients: nccl, ring (over MPI), or library for MPI's own algorithm. Default: nccl if "
     "all processes have CUDA devices and NCCL; otherwise ring for up to 8 processes and library for more."},
    {"CUDA_VISIBLE_DEVICES", "NVIDIA devices that the driver makes visible; cuda:0 is the first of them."},
    {"CUDA_HOME, CUDA_PATH",
     "Folders searched for the CUDA libraries, in addition to the loader's own path and /usr/local/cuda."},
    {"MYXTTS_CUDA_DRIVER, MYXTTS_CUDA_NVRTC, MYXTTS_CUDA_CUBLAS, MYXTTS_CUDA_NVML, MYXTTS_CUDA_NCCL",
     "Paths of libcuda, libnvrtc, libcublas, libnvidia-ml and libnccl, if they are elsewhere."},
    {"LANGUAGE, LC_ALL, LC_MESSAGES, LANG", "Language of help pages and of the output of 'myxtts config': Persian if "
                                            "they ask for fa, otherwise English. Messages are always in English."},
    {"NO_COLOR", "If set and not empty, messages on a terminal have no colours."},
    {"TMPDIR", "Folder for the synthetic corpus of 'myxtts profile'. Default: /tmp."},
    {NULL, NULL},
};

const char *mx_docgen_exit_code(int code)
{
    static const char *const words[] = {"success", "wrong usage or settings", "bad data or files",
                                        "device, driver or memory", "interrupted, but saved"};
    return code >= 0 && code < (int)(sizeof words / sizeof words[0]) ? words[code] : NULL;
}

bool mx_docgen_is_path(const char *word)
{
    static const char *const words[] = {"FILE", "DIR", "RUN", "RUN_OR_FILE", "CORPUS", "PATH", NULL};
    for (size_t i = 0; word != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0) return true;
    return false;
}

const char *mx_docgen_operand(const char **at, size_t *length)
{
    while (*at != NULL && **at != '\0') {
        const char *const word = *at;
        *length = strcspn(word, "| ");
        *at = word[*length] == '\0' ? word + *length : word + *length + 1;
        if (*length > 0 && strspn(word, "abcdefghijklmnopqrstuvwxyz") == *length) return word;
    }
    return NULL;
}

int mx_docgen_put(const struct mx_string *text, const char *path)
{
    if (path != NULL) return mx_file_write_atomic(path, text->data, text->length);
    fputs(text->data, stdout);
    return 0;
}
