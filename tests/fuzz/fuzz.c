/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The beginning of each fuzz target, see fuzz.h.
 */
#include "fuzz.h"

#include "base/log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    if (fuzz_begin != NULL) fuzz_begin();
    return 0;
}
