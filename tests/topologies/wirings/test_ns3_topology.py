"""Topology files of ns-3: the servers, their ports and cables; switches of several servers are for collectives.

The cube mesh is the example of an issue of ASTRA-sim (number 299): eight accelerators, links of 200 and 400 Gb/s.
"""

from pathlib import Path

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.topologies.wirings import read_switched_graph, read_wiring_file

CUBE = """\
8 0 16

0 1 200Gbps 0.005ms 0
0 2 200Gbps 0.005ms 0
0 3 400Gbps 0.005ms 0
0 4 400Gbps 0.005ms 0
1 2 400Gbps 0.005ms 0
1 3 200Gbps 0.005ms 0
1 5 400Gbps 0.005ms 0
2 3 400Gbps 0.005ms 0
2 6 200Gbps 0.005ms 0
3 7 200Gbps 0.005ms 0
4 5 200Gbps 0.005ms 0
4 6 200Gbps 0.005ms 0
4 7 400Gbps 0.005ms 0
5 6 400Gbps 0.005ms 0
5 7 200Gbps 0.005ms 0
6 7 400Gbps 0.005ms 0
"""
HOSTS = "4 2 3\n2 3\n0 2 200Gbps 0.000001ms 0\n1 3 200Gbps 0.000001ms 0\n2 3 100Gbps 0.001ms 0\n"
"""Two hosts, each behind a switch of its own, as topoopt export writes them."""
RACK = "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"


def read(text: str, tmp_path: Path) -> topoopt.WiringAnswer:
    (tmp_path / "topology.txt").write_text(text)
    answer = topoopt.topology(file=str(tmp_path / "topology.txt"))
    assert isinstance(answer, topoopt.WiringAnswer)
    return answer


def test_a_link_of_two_ports_is_two_links(tmp_path: Path) -> None:
    wiring = read(CUBE, tmp_path).wiring
    assert (wiring.servers, wiring.degree, wiring.links) == (8, 6, "duplex")
    assert len(wiring.arcs[0]) == 2 * 24
    assert (wiring.recipe["bandwidth_bps"], wiring.recipe["latency_s"]) == (200e9, 5e-6)
    src, dst = wiring.arcs
    assert np.bincount(dst[src == 0], minlength=8).tolist() == [0, 1, 1, 2, 2, 0, 0, 0]


def test_a_host_and_its_own_switch_are_a_server(tmp_path: Path) -> None:
    wiring, _ = read_wiring_file(written(HOSTS, tmp_path))
    assert (wiring.servers, wiring.degree, wiring.recipe["bandwidth_bps"]) == (2, 1, 100e9)


def test_switches_of_several_servers_are_those_of_a_collective(tmp_path: Path) -> None:
    topology = read_switched_graph(written(RACK, tmp_path), 1e9)
    assert topology is not None
    assert (topology.servers, topology.nodes, topology.bandwidth_bps.tolist()) == (2, 3, [100e9] * 4)
    assert read_switched_graph(written(HOSTS, tmp_path), 1e9) is None


def written(text: str, tmp_path: Path) -> str:
    (tmp_path / "topology.txt").write_text(text)
    return str(tmp_path / "topology.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RACK,
            "line 1: node 2 is a switch or a NIC, and a wiring joins servers directly; .* such as fat-tree",
        ),
        (HOSTS.replace("1 3 200", "1 2 200"), "node 2 is a switch"),
        (CUBE.replace("8 0 16", "8 0 17"), "line 1: says 17 links, there are 16"),
        (CUBE.replace("8 0 16", "8 1 16"), "line 1: says 1 switches, there are 0"),
        (CUBE.replace("6 7 400Gbps", "6 8 400Gbps"), "line 18: node 8: line 1 says 8 nodes"),
        (CUBE.replace("6 7 400Gbps 0.005ms 0", "6 7 fast"), "line 18: expected a link such as 0 1 400Gbps"),
        (
            CUBE.replace("0 1 200Gbps", "0 1 201.000001Gbps"),
            "line 3: .* is no small multiple of one port's bandwidth",
        ),
        (CUBE.replace("0 1 200Gbps 0.005ms", "0 1 200Gbps 0.006ms"), "line 4: link 0 - 2 has 5 µs"),
    ],
)
def test_what_is_no_wiring_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message) as raised:
        topoopt.topology(file=written(text, tmp_path))
    assert "topology.txt: " in str(raised.value)
