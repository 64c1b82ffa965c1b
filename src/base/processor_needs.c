/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What this build needs of the processor: data, compiled as the rest of the program is. See processor.h.
 */
#include "base/processor.h"

const uint64_t mx_processor_needs = MX_PROCESSOR_NEEDS;
const char mx_processor_build_target[] = MX_BUILD_TARGET;
