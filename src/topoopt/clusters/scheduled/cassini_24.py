"""The preset ``cassini-24``: 24 servers on 13 logical switches, as in CASSINI's testbed.

Published are the counts: 24 servers of one A100 each, 50 Gb/s, 13 logical switches, 48 duplex links, 2:1
oversubscribed. How they are wired is not. This is a stand-in that has all of these numbers: six racks of four servers
with two links up, two pods of three racks and two aggregation switches, and three core switches, each with a link to
every aggregation switch. So 6 + 4 + 3 switches, 24 + 12 + 12 links, each of 50 Gb/s, and 2:1 at the racks only.

References
----------
.. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 5.1.
"""

from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.routing import EcmpRoutes, Fabric
from topoopt.topologies import Link, topology_from_links

NAME = "cassini-24"
SERVERS, LINK_BPS, LATENCY_S = 24, 50e9, 1e-6
RACKS, PODS, AGGREGATION_OF_A_POD, CORES = 6, 2, 2, 3


def cassini_24(seed: int = 0) -> WorkerNetwork:
    """Return the network of the preset.

    Examples
    --------
    >>> network = cassini_24()
    >>> topology = network.fabric.topology
    >>> topology.servers, topology.nodes - topology.servers, len(topology) // 2
    (24, 13, 48)
    """
    first_rack, first_aggregation = SERVERS, SERVERS + RACKS
    first_core = first_aggregation + PODS * AGGREGATION_OF_A_POD
    cables = [(server, first_rack + server * RACKS // SERVERS) for server in range(SERVERS)]
    for rack in range(RACKS):
        pod = rack * PODS // RACKS
        above = first_aggregation + pod * AGGREGATION_OF_A_POD
        cables += [(first_rack + rack, above + number) for number in range(AGGREGATION_OF_A_POD)]
    for aggregation in range(first_aggregation, first_core):
        cables += [(aggregation, first_core + core) for core in range(CORES)]
    links = [Link(*ends, LINK_BPS, LATENCY_S) for a, b in cables for ends in ((a, b), (b, a))]
    topology = topology_from_links(NAME, SERVERS, links, first_core + CORES)
    fabric = Fabric(NAME, topology, EcmpRoutes(topology), {})
    described = "13 switches, 48 links of 50 Gb/s, 2:1 at the racks (a stand-in; the wiring is not published)"
    return WorkerNetwork(fabric, described, seed)
