/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How close two devices are to each other, in the terms of `nvidia-smi topo -m`.
 */
#ifndef MX_DEVICE_TOPOLOGY_H
#define MX_DEVICE_TOPOLOGY_H

#include "myxtts/device.h"

enum mx_topology_link {
    MX_LINK_SELF,    /* X    the same device */
    MX_LINK_SHARED,  /* SHM  the same physical memory (CPU devices of one NUMA node) */
    MX_LINK_PIX,     /* PIX  at most one PCIe bridge */
    MX_LINK_PXB,     /* PXB  several PCIe bridges, no host bridge */
    MX_LINK_PHB,     /* PHB  through a PCIe host bridge */
    MX_LINK_NODE,    /* NODE across host bridges of one NUMA node */
    MX_LINK_SYS,     /* SYS  across NUMA nodes */
    MX_LINK_UNKNOWN, /* ?    no topology information (built without hwloc, or no PCI address) */
};

struct mx_topology;

/* Reads the machine's topology (with hwloc; without it only CPU devices are placed and all others are UNKNOWN). */
int mx_topology_open(struct mx_topology **out);
void mx_topology_close(struct mx_topology *topology);
bool mx_topology_knows_pci(void); /* whether this build has hwloc; if not, PCI devices are UNKNOWN to each other */
enum mx_topology_link mx_topology_between(struct mx_topology *topology, const struct mx_device_info *a,
                                          const struct mx_device_info *b);
const char *mx_topology_word(enum mx_topology_link link);    /* "PIX" */
const char *mx_topology_meaning(enum mx_topology_link link); /* "at most one PCIe bridge" */
bool mx_topology_slow(enum mx_topology_link link);           /* NODE and SYS: worth a warning for a device pair */
const char *mx_topology_remedy(enum mx_topology_link link);  /* advice for a slow link; NULL if it is not slow */

#endif
