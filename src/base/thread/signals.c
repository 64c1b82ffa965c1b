/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See signals.h.
 */
#include "base/thread/signals.h"

void mx_signals_save(struct mx_signals *signals)
{
    for (int i = 1; i < MX_SIGNALS; i++) (void)sigaction(i, NULL, &signals->actions[i]);
}

void mx_signals_restore(const struct mx_signals *signals)
{
    struct sigaction now;
    for (int i = 1; i < MX_SIGNALS; i++) {
        const struct sigaction *const before = &signals->actions[i];
        if (i == SIGKILL || i == SIGSTOP || sigaction(i, NULL, &now) != 0) continue;
        if (now.sa_handler != before->sa_handler || now.sa_flags != before->sa_flags) (void)sigaction(i, before, NULL);
    }
}
