/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For tests that need two CPU devices: a device has a core of its own, so there are none on a machine, or for a process,
 * with one core. And for those that need one core only: where the machine has other work, the threads of a device wait for
 * each other in every operation, which takes far longer than the operations of a small network.
 */
#ifndef TESTS_SUPPORT_CORES_H
#define TESTS_SUPPORT_CORES_H

void two_cores_or_skip(void); /* skips the test case and says why */
void two_cores_or_exit(void); /* in the setup of a group: skips the whole program and says why */

void one_core(void); /* from now on this thread and all that it starts run on one of its cores */

#endif
