/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How close two devices are to each other; see topology.h.
 *
 * CPU devices are placed by their NUMA nodes, which their backend knows; everything else by its PCI address in hwloc's
 * tree: two devices meet at a bridge, at a host bridge, or only above, where their NUMA nodes decide.
 *
 * Memory: the topology owns hwloc's tree until mx_topology_close.
 */
#include "device/topology.h"

#include "base/alloc.h"
#include "myxtts/error.h"

#include <string.h>

#ifdef MX_HAVE_HWLOC
#include <hwloc.h>
#endif

struct mx_topology {
#ifdef MX_HAVE_HWLOC
    hwloc_topology_t tree;
#else
    char empty;
#endif
};

static const struct {
    const char *word, *meaning;
} links[] = {
    [MX_LINK_SELF] = {"X", "the same device"},
    [MX_LINK_SHARED] = {"SHM", "the same physical memory"},
    [MX_LINK_PIX] = {"PIX", "at most one PCIe bridge"},
    [MX_LINK_PXB] = {"PXB", "several PCIe bridges, no host bridge"},
    [MX_LINK_PHB] = {"PHB", "through a PCIe host bridge"},
    [MX_LINK_NODE] = {"NODE", "across host bridges of one NUMA node"},
    [MX_LINK_SYS] = {"SYS", "across NUMA nodes"},
    [MX_LINK_UNKNOWN] = {"?", "not known"},
};

const char *mx_topology_word(enum mx_topology_link link)
{
    return links[link].word;
}

const char *mx_topology_meaning(enum mx_topology_link link)
{
    return links[link].meaning;
}

bool mx_topology_slow(enum mx_topology_link link)
{
    return link == MX_LINK_NODE || link == MX_LINK_SYS;
}

const char *mx_topology_remedy(enum mx_topology_link link)
{
    return mx_topology_slow(link)
               ? "two devices that 'myxtts devices' shows with PIX, PXB or PHB between them copy faster"
               : NULL;
}

bool mx_topology_knows_pci(void)
{
#ifdef MX_HAVE_HWLOC
    return true;
#else
    return false;
#endif
}

int mx_topology_open(struct mx_topology **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_topology *const topology = mx_alloc(1, sizeof *topology);
    if (!topology) return MX_ERR_NO_MEMORY;
#ifdef MX_HAVE_HWLOC
    if (hwloc_topology_init(&topology->tree) != 0) {
        topology->tree = NULL;
        MX_RAISE(MX_ERR_NO_MEMORY, NULL, "hwloc cannot start");
    }
    hwloc_topology_set_io_types_filter(topology->tree, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology->tree) != 0) {
        MX_RAISE(MX_ERR_UNSUPPORTED, "`lstopo` shows what hwloc can see", "hwloc cannot read this machine's topology");
    }
out:
#endif
    if (rc < 0) {
        mx_topology_close(topology);
    } else {
        *out = topology;
    }
    return rc;
}

void mx_topology_close(struct mx_topology *topology)
{
    if (!topology) return;
#ifdef MX_HAVE_HWLOC
    if (topology->tree) hwloc_topology_destroy(topology->tree);
#endif
    mx_free(topology);
}

#ifdef MX_HAVE_HWLOC

static int node_count(struct mx_topology *topology)
{
    return hwloc_get_nbobjs_by_type(topology->tree, HWLOC_OBJ_NUMANODE);
}

static hwloc_obj_t pci_find(struct mx_topology *topology, const struct mx_device_info *info)
{
    return info->pci_bus[0] ? hwloc_get_pcidev_by_busidstring(topology->tree, info->pci_bus) : NULL;
}

static bool is_pci_bridge(hwloc_obj_t object)
{
    return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

static bool is_under(hwloc_obj_t object, hwloc_obj_t above)
{
    while (object && object != above) object = object->parent;
    return object == above;
}

/* PCI bridges on the way from `object` up to, and without, `above`. */
static int bridges_below(hwloc_obj_t object, hwloc_obj_t above)
{
    int count = 0;
    for (object = object->parent; object != above; object = object->parent) count += is_pci_bridge(object);
    return count;
}

static enum mx_topology_link between_pci(struct mx_topology *topology, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t meet = a->parent;
    while (!is_under(b, meet)) meet = meet->parent;
    if (is_pci_bridge(meet)) {
        /* A switch shows as one bridge at the top and one to each device: together they count as one. */
        return bridges_below(a, meet) <= 1 && bridges_below(b, meet) <= 1 ? MX_LINK_PIX : MX_LINK_PXB;
    }
    if (meet->type == HWLOC_OBJ_BRIDGE) return MX_LINK_PHB;
    const hwloc_obj_t at_a = hwloc_get_non_io_ancestor_obj(topology->tree, a);
    const hwloc_obj_t at_b = hwloc_get_non_io_ancestor_obj(topology->tree, b);
    const bool same = hwloc_bitmap_isequal(at_a->nodeset, at_b->nodeset) && hwloc_bitmap_weight(at_a->nodeset) == 1;
    return same ? MX_LINK_NODE : MX_LINK_SYS;
}

/* A CPU and something on the PCI bus. */
static enum mx_topology_link between_cpu_pci(struct mx_topology *topology, const struct mx_device_info *cpu,
                                             hwloc_obj_t pci)
{
    if (node_count(topology) <= 1) return MX_LINK_PHB;
    if (cpu->numa_node < 0) return MX_LINK_SYS; /* its cores are on several */
    const hwloc_obj_t at = hwloc_get_non_io_ancestor_obj(topology->tree, pci);
    return hwloc_bitmap_isset(at->nodeset, (unsigned)cpu->numa_node) && hwloc_bitmap_weight(at->nodeset) == 1
               ? MX_LINK_PHB
               : MX_LINK_SYS;
}

#endif

enum mx_topology_link mx_topology_between(struct mx_topology *topology, const struct mx_device_info *a,
                                          const struct mx_device_info *b)
{
    if (a->index == b->index && strcmp(a->backend, b->backend) == 0) return MX_LINK_SELF;
    const bool cpu_a = a->kind == MX_DEVICE_CPU, cpu_b = b->kind == MX_DEVICE_CPU;
    if (cpu_a && cpu_b && a->numa_node >= 0 && b->numa_node >= 0) {
        return a->numa_node == b->numa_node ? MX_LINK_SHARED : MX_LINK_SYS;
    }
    if (!cpu_a && a->pci_bus[0] && strcmp(a->pci_bus, b->pci_bus) == 0) return MX_LINK_SHARED; /* parts of one card */
#ifdef MX_HAVE_HWLOC
    if (cpu_a && cpu_b) return node_count(topology) <= 1 ? MX_LINK_SHARED : MX_LINK_SYS;
    const hwloc_obj_t pci_a = pci_find(topology, a), pci_b = pci_find(topology, b);
    if (pci_a && pci_b) return between_pci(topology, pci_a, pci_b);
    if (cpu_a && pci_b) return between_cpu_pci(topology, a, pci_b);
    if (cpu_b && pci_a) return between_cpu_pci(topology, b, pci_a);
#else
    (void)topology;
#endif
    return MX_LINK_UNKNOWN;
}
