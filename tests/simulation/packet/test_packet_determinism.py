"""The same seed gives the same bytes in any process; another seed draws other paths."""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.simulation.packet.engine import PACKET, duplex, played, routed, transfers
from topoopt.routing import Fabric
from topoopt.simulation import TRANSPORTS, LinkFailure
from topoopt.topologies import topology_from_links

SERVERS = 4


def two_spines() -> Fabric:
    """Two leaves with two servers each, and two spines: two paths between the leaves, slower than the servers."""
    leaf, spine = (SERVERS, SERVERS + 1), (SERVERS + 2, SERVERS + 3)
    links = duplex([(i, leaf[i // 2]) for i in range(SERVERS)], 100e9, 1e-6)
    links += duplex([(a, b) for a in leaf for b in spine], 40e9, 1e-6)
    return routed(topology_from_links("two-spines", SERVERS, links, SERVERS + 4))


def digest(seed: int, transport: str, path_choice: str) -> str:
    """Return a digest of everything that a run with losses, marks and a failure gives."""
    fabric = two_spines()
    rows = [(a, b, (30 + 10 * a + b) * PACKET) for a in range(SERVERS) for b in range(SERVERS) if a != b]
    result = played(
        transfers(SERVERS, *rows),
        fabric,
        seed,
        transport=transport,
        path_choice=path_choice,
        acks="reverse",
        buffer_packets=30,
        mark_packets=10.0,
        failures=(LinkFailure(4, 6, 20e-6, 90e-6),),
        log_flows=True,
    )
    assert result.packet is not None
    assert result.flows is not None
    arrays = [result.start_s, result.finish_s, result.packet.link_packets, result.packet.link_drops]
    arrays += [result.packet.link_marks, result.packet.link_queue_peak_bytes]
    arrays += [result.flows.finish_s, result.flows.resent, result.flows.marks]
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_seed_gives_the_same_bytes_again_and_another_seed_others(transport: str) -> None:
    assert digest(3, transport, "connection") == digest(3, transport, "connection")
    assert digest(3, transport, "connection") != digest(4, transport, "connection")


def test_another_process_gives_the_same_bytes() -> None:
    program = (
        "from tests.simulation.packet.test_packet_determinism import digest; "
        "print(digest(3, 'reno', 'packet'), digest(3, 'dcqcn', 'connection'))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == [digest(3, "reno", "packet"), digest(3, "dcqcn", "connection")]
