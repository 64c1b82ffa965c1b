/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names and explanations of the reasons in reject.h. Constant data only.
 */
#include "corpus/reject.h"

#include <stddef.h>

static const struct {
    const char *name, *text;
} reasons[MX_REJECT_COUNT] = {
#define X(identifier, code, label, words) [code] = {label, words},
    MX_REJECT_LIST(X)
#undef X
};

const char *mx_reject_name(enum mx_reject reject)
{
    return (size_t)reject < MX_REJECT_COUNT ? reasons[reject].name : "unknown";
}

const char *mx_reject_text(enum mx_reject reject)
{
    return (size_t)reject < MX_REJECT_COUNT ? reasons[reject].text : "unknown reason";
}

double mx_rejected_share(uint32_t rejected, uint32_t dropped, uint32_t rows)
{
    return rows > 0 ? (double)(rejected - dropped) / rows : 0;
}
