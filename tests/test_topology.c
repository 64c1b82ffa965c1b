/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Topology: CPU devices of this machine, and PCI devices of a machine that is described here (hwloc reads
 * it instead of the real one): two NUMA nodes, a switch, bridges behind bridges, two host bridges on one node.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "device/topology.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What hwloc writes, by hand. Buses 02, 03 and 05 are behind one switch (05 behind a further bridge), 06 on the same
 * host bridge, 21 on another host bridge of the same node, 41 on the other node. */
#define SETS(mask)                                                                                                     \
    "cpuset=\"" mask "\" complete_cpuset=\"" mask "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\" "
#define PACKAGE(n, mask, gp)                                                                                           \
    "<object type=\"Package\" os_index=\"" n                                                                           \
    "\" " SETS(mask) "gp_index=\"" gp "1\">"                                                                           \
                     "<object type=\"NUMANode\" os_index=\"" n                                                         \
                     "\" " SETS(mask) "gp_index=\"" gp "2\" local_memory=\"1073741824\"/>"                             \
                                      "<object type=\"PU\" os_index=\"" n "\" " SETS(mask) "gp_index=\"" gp "3\"/>"
#define HOST_BRIDGE(buses, gp)                                                                                         \
    "<object type=\"Bridge\" gp_index=\"" gp "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[" buses "]\">"
#define BRIDGE(address, buses, depth, gp)                                                                              \
    "<object type=\"Bridge\" gp_index=\"" gp "\" bridge_type=\"1-1\" depth=\"" depth "\" bridge_pci=\"0000:[" buses    \
    "]\" pci_busid=\"0000:" address "\" pci_type=\"0604 [10b5:8747] [0000:0000] ca\" pci_link_speed=\"0.000000\">"
#define CARD(address, gp)                                                                                              \
    "<object type=\"PCIDev\" gp_index=\"" gp "\" pci_busid=\"0000:" address                                            \
    "\" pci_type=\"0302 [10de:1b38] [10de:11d9] a1\" pci_link_speed=\"0.000000\"/>"
#define END "</object>"

// clang-format off: it is indented as the tree is
static const char machine[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">"
    "<object type=\"Machine\" os_index=\"0\" " SETS(
        "0x00000003") "allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000003\" gp_index=\"1\">" PACKAGE("0",
                                                                                                             "0x0000000"
                                                                                                             "1",
                                                                                                             "1")
        HOST_BRIDGE("00-1f", "20") BRIDGE("00:01.0", "01-05", "1", "21") BRIDGE("01:00.0", "02-02", "2", "22")
            CARD("02:00.0", "23") END BRIDGE("01:01.0", "03-03", "2", "24") CARD("03:00.0", "25")
                END BRIDGE("01:02.0", "04-05", "2", "26") BRIDGE("04:00.0", "05-05", "3", "27") CARD("05:00.0", "28")
                    END END END BRIDGE("00:02.0", "06-06", "1", "29") CARD("06:00.0", "30")
                        END END HOST_BRIDGE("20-3f", "31") BRIDGE("20:01.0", "21-21", "1", "32") CARD("21:00.0", "33")
                            END END END PACKAGE("1", "0x00000002", "4") HOST_BRIDGE("40-5f", "50")
                                BRIDGE("40:01.0", "41-41", "1", "51") CARD("41:00.0", "52") END END END END
    "</topology>\n";
// clang-format on

static struct mx_device_info pci(const char *bus)
{
    struct mx_device_info info = {.backend = "cuda", .kind = MX_DEVICE_GPU, .numa_node = -1};
    static int index;
    info.index = index++;
    snprintf(info.pci_bus, sizeof info.pci_bus, "%s", bus);
    return info;
}

static struct mx_device_info cpu(int index, int node)
{
    return (struct mx_device_info){.backend = "cpu", .index = index, .kind = MX_DEVICE_CPU, .numa_node = node};
}

static void test_words(void **state)
{
    (void)state;
    static const char *const words[] = {"X", "SHM", "PIX", "PXB", "PHB", "NODE", "SYS", "?"};
    for (int link = MX_LINK_SELF; link <= MX_LINK_UNKNOWN; link++) {
        assert_string_equal(mx_topology_word((enum mx_topology_link)link), words[link]);
        assert_true(strlen(mx_topology_meaning((enum mx_topology_link)link)) > 5);
        assert_int_equal(mx_topology_slow((enum mx_topology_link)link), link == MX_LINK_NODE || link == MX_LINK_SYS);
        assert_int_equal(mx_topology_remedy((enum mx_topology_link)link) != NULL,
                         mx_topology_slow((enum mx_topology_link)link));
    }
}

static void test_cpu_devices(void **state)
{
    (void)state;
    struct mx_topology *topology;
    struct mx_registry *registry;
    assert_int_equal(mx_topology_open(&topology), 0);
    assert_int_equal(mx_registry_open(mx_backends_cpu, NULL, &registry), 0);
    const struct mx_device_info *const here = mx_registry_device(registry, 0);
    assert_int_equal(mx_topology_between(topology, here, here), MX_LINK_SELF);
    mx_registry_close(registry);
    const struct mx_device_info a = cpu(0, 0), b = cpu(1, 0), c = cpu(2, 1);
    assert_int_equal(mx_topology_between(topology, &a, &a), MX_LINK_SELF);
    assert_int_equal(mx_topology_between(topology, &a, &b), MX_LINK_SHARED);
    assert_int_equal(mx_topology_between(topology, &a, &c), MX_LINK_SYS);
    const struct mx_device_info nowhere = pci(""), absent = pci("ffff:ff:1f.7");
    assert_int_equal(mx_topology_between(topology, &nowhere, &a), MX_LINK_UNKNOWN);
    assert_int_equal(mx_topology_between(topology, &absent, &nowhere), MX_LINK_UNKNOWN);
    mx_topology_close(topology);
    mx_topology_close(NULL);
}

static void test_pci_devices(void **state)
{
    (void)state;
    char path[] = "/tmp/test_topology.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, machine, sizeof machine - 1), sizeof machine - 1);
    close(fd);
    setenv("HWLOC_XMLFILE", path, 1);
    struct mx_topology *topology;
    const int rc = mx_topology_open(&topology);
    unsetenv("HWLOC_XMLFILE");
    unlink(path);
    assert_int_equal(rc, 0);

    static const char *const buses[] = {"02", "03", "05", "06", "21", "41"};
    static const enum mx_topology_link links[6][6] = {
        {MX_LINK_SELF, MX_LINK_PIX, MX_LINK_PXB, MX_LINK_PHB, MX_LINK_NODE, MX_LINK_SYS},
        {MX_LINK_PIX, MX_LINK_SELF, MX_LINK_PXB, MX_LINK_PHB, MX_LINK_NODE, MX_LINK_SYS},
        {MX_LINK_PXB, MX_LINK_PXB, MX_LINK_SELF, MX_LINK_PHB, MX_LINK_NODE, MX_LINK_SYS},
        {MX_LINK_PHB, MX_LINK_PHB, MX_LINK_PHB, MX_LINK_SELF, MX_LINK_NODE, MX_LINK_SYS},
        {MX_LINK_NODE, MX_LINK_NODE, MX_LINK_NODE, MX_LINK_NODE, MX_LINK_SELF, MX_LINK_SYS},
        {MX_LINK_SYS, MX_LINK_SYS, MX_LINK_SYS, MX_LINK_SYS, MX_LINK_SYS, MX_LINK_SELF},
    };
    const bool known = mx_topology_knows_pci();
    struct mx_device_info cards[6];
    for (int i = 0; i < 6; i++) {
        char address[16];
        snprintf(address, sizeof address, "0000:%s:00.0", buses[i]);
        cards[i] = pci(address);
    }
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            assert_int_equal(mx_topology_between(topology, &cards[i], &cards[j]),
                             known || i == j ? links[i][j] : MX_LINK_UNKNOWN);
        }
        for (int node = -1; node < 2; node++) { /* a CPU device reaches a card of its own node by the host bridge */
            const struct mx_device_info processor = cpu(0, node);
            const bool own = node == (i == 5);
            const enum mx_topology_link expected = known ? own ? MX_LINK_PHB : MX_LINK_SYS : MX_LINK_UNKNOWN;
            assert_int_equal(mx_topology_between(topology, &cards[i], &processor), expected);
            assert_int_equal(mx_topology_between(topology, &processor, &cards[i]), expected);
        }
    }
    /* A device that spans nodes is across nodes from every other; two halves of one card share its memory. */
    const struct mx_device_info wide = cpu(1, -1), narrow = cpu(0, 0), half = pci("0000:02:00.0");
    assert_int_equal(mx_topology_between(topology, &wide, &narrow), known ? MX_LINK_SYS : MX_LINK_UNKNOWN);
    assert_int_equal(mx_topology_between(topology, &cards[0], &half), MX_LINK_SHARED);
    mx_topology_close(topology);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct mx_topology *topology;
    mx_alloc_fail_at(1);
    assert_int_equal(mx_topology_open(&topology), MX_ERR_NO_MEMORY);
    assert_null(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_cpu_devices),
        cmocka_unit_test(test_pci_devices),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
