/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the launcher's environment variables, see launch.h.
 */
#include "dist/launch.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/string.h"

/* In this order: mpirun inside of a Slurm job leaves the variables of both. SLURM_NTASKS would also be there in a job
 * script itself, which is one process. MVAPICH and Intel MPI set the same variables as MPICH. */
static const struct {
    const char *launcher, *size, *rank;
} known[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpiexec of MPICH", "PMI_SIZE", "PMI_RANK"},
    {"srun of Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};

static bool number_of(const char *variable, int32_t *out)
{
    int64_t value;
    const char *const text = getenv(variable);
    if (text == NULL || mx_string_parse_int64(text, &value) != MX_STRING_NUMBER || value < 0 || value > INT32_MAX)
        return false;
    *out = (int32_t)value;
    return true;
}

bool mx_launch_find(struct mx_launch *out)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        *out = (struct mx_launch){.launcher = known[i].launcher};
        if (!number_of(known[i].size, &out->size) || !number_of(known[i].rank, &out->rank)) continue;
        if (out->size >= 1 && out->rank < out->size) return true;
    }
    *out = (struct mx_launch){.size = 1};
    return false;
}

struct mx_launch_part mx_launch_cores(int count, int place, int sharers)
{
    if (count < sharers) return (struct mx_launch_part){place % count, 1};
    const int first = (int)((int64_t)count * place / sharers), next = (int)((int64_t)count * (place + 1) / sharers);
    return (struct mx_launch_part){first, next - first};
}
