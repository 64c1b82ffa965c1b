/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For tests that need two CPU devices: a device has a core of its own, so there are none on a machine, or for a process,
 * with one core.
 */
#ifndef TESTS_SUPPORT_CORES_H
#define TESTS_SUPPORT_CORES_H

void two_cores_or_skip(void); /* skips the test case and says why */
void two_cores_or_exit(void); /* in the setup of a group: skips the whole program and says why */

#endif
