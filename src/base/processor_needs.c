/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The processor features that this build needs: data, compiled like the rest of the program. See processor.h.
 */
#include "base/processor.h"

const uint64_t mx_processor_needs = MX_PROCESSOR_NEEDS;
const char mx_processor_build_target[] = MX_BUILD_TARGET;
