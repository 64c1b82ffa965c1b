/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading OpenBLAS: as it is linked, or once more, in a namespace of its own, for the vectors of this machine.
 */
#include "openblas.h"

#ifdef MX_HAVE_OPENBLAS

#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peak.h"

/* The kernels that use vectors as wide as ours, NULL when `chosen` already are such. */
static const char *better_core(const char *chosen)
{
#if defined(__x86_64__)
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    static const char *const half[] = {"Haswell", "Zen", "Excavator"};
    const int bytes = peak_vector_bytes();
    for (size_t i = 0; bytes == 64 && i < sizeof wide / sizeof *wide; i++)
        if (strcasecmp(chosen, wide[i]) == 0) return NULL;
    for (size_t i = 0; bytes == 32 && i < sizeof half / sizeof *half; i++)
        if (strcasecmp(chosen, half[i]) == 0) return NULL;
    if (bytes == 64) return "SkylakeX";
    if (bytes == 32) return "Haswell";
#else
    (void)chosen;
#endif
    return NULL;
}

void openblas_open(struct openblas *blas)
{
    const char *chosen = openblas_get_corename(), *better = better_core(chosen);
    Dl_info where;
    *blas = (struct openblas){.note = ""};
    snprintf(blas->name, sizeof blas->name, "OpenBLAS %s", chosen);
    *(__typeof__(&cblas_sgemm) *)&blas->sgemm = cblas_sgemm;
    if (!better || dladdr(blas->sgemm, &where) == 0 || getenv("OPENBLAS_CORETYPE")) return;
    setenv("OPENBLAS_CORETYPE", better, 1);
    void *copy = dlmopen(LM_ID_NEWLM, where.dli_fname, RTLD_NOW | RTLD_LOCAL);
    unsetenv("OPENBLAS_CORETYPE");
    void *sgemm = copy ? dlsym(copy, "cblas_sgemm") : NULL;
    if (!sgemm) return;
    blas->sgemm = sgemm;
    snprintf(blas->name, sizeof blas->name, "OpenBLAS %s", better);
    snprintf(blas->note, sizeof blas->note, "OpenBLAS chose its %s kernels for this machine; it was told to use %s",
             chosen, better);
}

void openblas_multiply(const struct openblas *blas, const struct mx_matmul_args *args)
{
    const __typeof__(&cblas_sgemm) sgemm = *(__typeof__(&cblas_sgemm) const *)&blas->sgemm;
    const struct mx_matmul_args *a = args;
    const int lda = (int)(a->transpose_a ? a->m : a->k), ldb = (int)(a->transpose_b ? a->k : a->n);
    sgemm(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans, a->transpose_b ? CblasTrans : CblasNoTrans,
          (int)a->m, (int)a->n, (int)a->k, 1, mx_buffer_host(a->a.buffer), lda, mx_buffer_host(a->b.buffer), ldb, 0,
          mx_buffer_host(a->c.buffer), (int)a->n);
}

#else

void openblas_open(struct openblas *blas)
{
    *blas = (struct openblas){.sgemm = NULL};
}

void openblas_multiply(const struct openblas *blas, const struct mx_matmul_args *args)
{
    (void)blas; /* there is none */
    (void)args;
}

#endif
