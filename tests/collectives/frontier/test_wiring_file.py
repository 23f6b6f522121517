"""A wiring from a file, and the line in which it is none."""

import json
from pathlib import Path

import pytest

from tests.collectives.wirings import BPS, arcs_of
from topoopt.base.errors import InvalidInput
from topoopt.collectives.frontier import read_wiring
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.topologies import circulant
from topoopt.topologies.wirings import WiringRequest, ports_in_order, search_wirings
from topoopt.topologies.wirings.file import write_wiring_file

RING = "# a ring\n0 1\n1 2 # with a remark\n2,3\n3-4\n\n4 -> 0\n"


CHAIN = "\n".join(f"{server} {server + 1}" for server in range(5000))


def written(folder: Path, text: str, **words: object) -> Wiring:
    path = folder / "wiring.txt"
    path.write_text(text)
    return read_wiring(path, BPS, **words)  # type: ignore[arg-type]


def test_a_list_of_cables(tmp_path: Path) -> None:
    wiring = written(tmp_path, RING)
    assert (wiring.servers, wiring.ports, wiring.links) == (5, 2, "duplex")
    assert arcs_of(wiring.topology) == arcs_of(circulant(5, (1,), BPS))


def test_a_list_of_fibers(tmp_path: Path) -> None:
    wiring = written(tmp_path, RING, links="directed")
    assert (wiring.servers, wiring.ports, wiring.links) == (5, 1, "directed")


def test_a_line_that_stands_twice_is_two_ports(tmp_path: Path) -> None:
    wiring = written(tmp_path, "0 1\n0 1\n")
    assert (wiring.ports, wiring.topology.ports.tolist()) == (2, [2, 2])


@pytest.mark.parametrize("key", ["links", "edges"])
def test_node_link_json(tmp_path: Path, key: str) -> None:
    rows = [{"source": i, "target": (i + step) % 9} for i in range(9) for step in (1, 2)]
    document = {"directed": True, "nodes": [{"id": i} for i in range(9)], key: rows}
    wiring = written(tmp_path, json.dumps(document))
    assert (wiring.servers, wiring.ports, wiring.links) == (9, 2, "directed")
    del document["directed"]
    assert written(tmp_path, json.dumps(document)).ports == 4


def test_ports_of_servers_with_fewer_links_are_idle(tmp_path: Path) -> None:
    wiring = written(tmp_path, "0 1\n1 2\n2 0\n0 3\n", degree=3)
    assert (wiring.ports, wiring.idle_ports) == (3, 12 - 8)
    assert written(tmp_path, "0 1\n1 2\n2 0\n0 3\n").idle_ports == 12 - 8


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("0 1\n1\n", {}, r"line 2: expected two servers, such as 0 1, got \"1\""),
        ("0 1\n1 1\n", {}, r"line 2: server 1 is linked to itself"),
        ("", {}, "names no link"),
        ("0 1\n1 2\n2 0\n0 2\n", {"degree": 2}, "line 4: server 0 has 2 ports out, and this would be port 3"),
        ("0 1\n1 3\n3 0\n", {}, "server 2 has no link; number servers from 0 without a gap"),
        ("0 1\n0 2\n", {"links": "directed"}, "server 0 has no link in"),
        ("0 99999999\n", {}, "server 1 has no link; number servers from 0 without a gap"),
        (CHAIN, {"degree": 2}, "servers: a collective is scheduled for at most 4096, got 5001"),
        ('{"nodes": []}', {}, "expected a list of links"),
        ('{"links": [{"source": 0}]}', {}, r"links\[0\]: expected source and target"),
        (
            '{"links": [{"source": 0, "target": true}]}',
            {},
            r"line 1: links\[0\]: expected the name or number of a server, got true",
        ),
    ],
)
def test_what_is_no_wiring_is_named_with_its_line(
    tmp_path: Path, text: str, words: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        written(tmp_path, text, **words)


def test_what_topology_writes_is_read_with_its_rings(tmp_path: Path) -> None:
    found = search_wirings(WiringRequest(16, 3, family="lifted")).chosen.wiring
    path = tmp_path / "wiring.json"
    write_wiring_file(path, found, ports_in_order(found))
    wiring = read_wiring(path, BPS)
    assert (wiring.servers, wiring.ports, wiring.links) == (16, 3, "duplex")
    assert [share for _, share in wiring.rings] == [0.5] * 3
    with pytest.raises(InvalidInput, match=r"degree: .*wiring.json says 3, got 4; leave it out"):
        read_wiring(path, BPS, degree=4)
