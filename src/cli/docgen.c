/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the writers of pages about the program share, see docgen.h. Owns no memory.
 */
#include "cli/docgen.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

const struct mx_docgen_variable mx_docgen_variables[] = {
    {"MYXTTS_ISA", "Kernels of a portable build instead of the best ones this machine can run: base, avx2 or avx512."},
    {"MYXTTS_BF16", "How bf16 numbers are multiplied on CPUs: amx, avx512 or off. Without it: the fastest there is."},
    {"MYXTTS_CACHE",
     "Folder in which built OpenCL kernels are kept. Without it: myxtts in $XDG_CACHE_HOME or ~/.cache."},
    {"MYXTTS_OPENCL_KERNELS", "gpu: kernels made for GPUs on OpenCL devices of CPU type, too; for tests."},
    {"MYXTTS_CLBLAST",
     "1: CLBlast multiplies matrices on all OpenCL devices, those of CPU type too, and must be installed. 0: on none. "
     "Without it: on GPUs, where it is installed."},
    {"MYXTTS_DASHBOARD_TOKEN",
     "The token of '--dashboard' where '--dashboard-token' is not given: others cannot see it in the list of "
     "processes."},
    {"MYXTTS_SUMS",
     "How several processes add gradients up: nccl, ring (over MPI), or library for MPI's own way. Without it: nccl "
     "where all have CUDA devices and NCCL, a ring of up to 8 elsewhere."},
    {"CUDA_VISIBLE_DEVICES", "Which NVIDIA devices there are, for the driver itself; cuda:0 is the first of them."},
    {"CUDA_HOME, CUDA_PATH",
     "Where the CUDA libraries are looked for, besides where the loader looks and /usr/local/cuda."},
    {"MYXTTS_CUDA_DRIVER, MYXTTS_CUDA_NVRTC, MYXTTS_CUDA_CUBLAS, MYXTTS_CUDA_NVML, MYXTTS_CUDA_NCCL",
     "Paths of libcuda, libnvrtc, libcublas, libnvidia-ml and libnccl, if they stand elsewhere."},
    {"LANGUAGE, LC_ALL, LC_MESSAGES, LANG",
     "Language of help pages and of what 'myxtts config' writes: Persian where they ask for fa, otherwise English. "
     "Messages are in English."},
    {"NO_COLOR", "If set and not empty, messages on a terminal have no colours."},
    {"TMPDIR", "Folder of the made-up corpus of 'myxtts profile'. Without it: /tmp."},
    {NULL, NULL},
};

const char *mx_docgen_exit_code(int code)
{
    static const char *const words[] = {"done", "wrong usage or settings", "bad data or files",
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
