"""The kernel itself, told by the scripts, sends what is for another as the plan says."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topoopt
from tests.plugins.exports.namespaces import Room, require_namespaces, room_of
from topoopt.base.errors import Infeasible
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.routing import Path as Way
from topoopt.routing import explicit_routes, make_routes
from topoopt.routing.forwarding import follow, forwarding_tables
from topoopt.topologies import circulant

Arrival = tuple[int, str | None]
"""A server, and the interface on which a packet comes in; None at its source."""


@pytest.fixture(scope="module", params=["hashed", "pinned", "hashed over fibers one way"])
def there(twelve: topoopt.Plan, directed_plan: topoopt.Plan, request: pytest.FixtureRequest) -> Deployment:
    """Fibers one way are emulated by a panel that sends what an interface sends to another than it hears."""
    plan = directed_plan if "fibers" in request.param else twelve
    return replace(deployment(plan), paths=request.param.split()[0])


def set_up(room: Room, made: Deployment, folder: Path) -> None:
    """Run every server's script in its namespace."""
    for name, text in FORMATS["iproute2"].write(made).items():
        (folder / name).write_text(str(text))
    for server, name in enumerate(made.addressing.server_names):
        room.run(server, "sh", str(folder / f"{name}.sh"))


def question(made: Deployment, way: int, at: Arrival) -> str:
    ways, addressing = made.tables.ways, made.addressing
    source = addressing.identity(int(ways.src[way]))
    address = addressing.identity(int(ways.dst[way]), int(ways.identity[way]))
    return f"route get {address} from {source}" + (f" iif {at[1]}" if at[1] else "")


def walked(room: Room, made: Deployment) -> dict[int, list[int]]:
    """Ask the kernels where each way goes, hop by hop; return the servers that it comes to."""
    addressing, ways = made.addressing, made.tables.ways
    far = {}
    for end in range(0, addressing.ends, 1 if addressing.duplex else 2):
        near, other = addressing.end(end), addressing.end(end ^ 1)
        far[near.server, addressing.interface_name(end)] = (other.server, addressing.interface_name(end ^ 1))
    nodes = {way: [int(ways.src[way])] for way in range(len(ways))}
    under_way: dict[int, Arrival] = {way: (nodes[way][0], None) for way in nodes}
    for _ in range(room.servers):
        for server in range(room.servers):
            here = [way for way, at in under_way.items() if at[0] == server and nodes[way][-1] == server]
            here = [way for way in here if server != ways.dst[way]]
            answers = room.ask(server, [question(made, way, under_way[way]) for way in here])
            for way, answer in zip(here, answers, strict=True):
                under_way[way] = far[server, answer["dev"]]
                nodes[way].append(under_way[way][0])
    return nodes


def test_the_kernels_own_answers_lead_every_pair_along_the_plan(there: Deployment, tmp_path: Path) -> None:
    require_namespaces("sysctl", "tc")
    tables, topology = there.tables, there.plan.fabric.topology
    links = follow(tables).links
    with room_of(there) as room:
        set_up(room, there, tmp_path)
        set_up(room, there, tmp_path)  # a second time nothing is in the way
        nodes = walked(room, there)
    assert len(nodes) >= topology.servers * (topology.servers - 1)
    for way, walk in nodes.items():
        assert walk[-1] == tables.ways.dst[way]
        of_way = links.link[slice(*links.pair_first[way : way + 2].tolist())].tolist()
        crossed = topology.link_ids(np.array(walk[:-1]), np.array(walk[1:])).tolist()
        assert set(crossed) <= set(of_way)
        if there.paths == "pinned":
            assert sorted(crossed) == of_way


def test_the_kernel_has_the_routes_weights_and_rules_of_the_plan(there: Deployment, tmp_path: Path) -> None:
    require_namespaces("sysctl", "tc")
    with room_of(there) as room:
        set_up(room, there, tmp_path)
        for server, network in enumerate(there.networks):
            tables = {"main": network.main} | {str(table.number): table.routes for table in network.tables}
            asked = {
                (number, route.address): {(hop.via, hop.interface, hop.weight) for hop in route.hops}
                for number, routes in tables.items()
                for route in routes
            }
            assert routes_of(room, server) == asked
            rules = [row for row in shown(room, server, "rule") if row["priority"] == 1000]
            assert [int(row["table"]) for row in rules] == [table.number for table in network.tables]


def shown(room: Room, server: int, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(room.run(server, "ip", "-json", *words))
    return rows


def routes_of(room: Room, server: int) -> dict[tuple[str, str], set[tuple[str, str, int]]]:
    return {
        (str(row.get("table", "main")), row["dst"]): {
            (hop["gateway"], hop["dev"], hop.get("weight", 1)) for hop in row.get("nexthops", [row])
        }
        for row in shown(room, server, "route", "show", "table", "all", "protocol", "189")
    }


def test_what_an_earlier_plan_has_left_is_taken_away(twelve: topoopt.Plan, tmp_path: Path) -> None:
    """Pinned before, other links and hashed now: addresses, routes and rules are those of now."""
    require_namespaces("sysctl")
    other = circulant(12, (1, 3), 100e9)
    fabric = replace(twelve.fabric, topology=other, routes=make_routes("k-shortest", other))
    before, now = replace(deployment(twelve), paths="pinned"), deployment(replace(twelve, fabric=fabric))
    assert before.tables.identities > 1
    assert set(before.wiring.patches) != set(now.wiring.patches)
    with room_of(now) as room:
        for made in (before, now):
            set_up(room, made, tmp_path)
        for server, network in enumerate(now.networks):
            asked = {(f"{identity}/32", "lo") for identity in network.identities}
            asked |= {(address, one.name) for one in network.interfaces for address in one.addresses}
            found = {
                (f"{one['local']}/{one['prefixlen']}", row["ifname"])
                for row in shown(room, server, "-4", "address")
                for one in row["addr_info"]
            }
            assert found - {("127.0.0.1/8", "lo")} == asked
            tables = [("main", network.main), *((str(t.number), t.routes) for t in network.tables)]
            assert set(routes_of(room, server)) == {(n, r.address) for n, routes in tables for r in routes}
            assert sum(row["priority"] == 1000 for row in shown(room, server, "rule")) == len(network.tables)


def test_connections_of_a_pair_are_hashed_by_the_weights(twelve: topoopt.Plan, tmp_path: Path) -> None:
    """3,000 connections over next hops of weights 1, 2 and 5: each within four standard deviations of its share."""
    require_namespaces("sysctl", "tc")
    topology = twelve.fabric.topology
    paths = [Way((0, 1, 6), 0.125), Way((0, 5, 6), 0.25), Way((0, 7, 6), 0.625)]
    others = [Way((a, b)) for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True)]
    made = replace(deployment(twelve), paths="hashed")
    pairs = np.array([0, *topology.src]), np.array([6, *topology.dst])
    tables = forwarding_tables(topology, explicit_routes(topology, [*paths, *others]), pairs=pairs)
    object.__setattr__(made, "tables", tables)
    count = 3000
    with room_of(made) as room:
        set_up(room, made, tmp_path)
        asked = f"route get {made.addressing.identity(6)} from {made.addressing.identity(0)} ipproto tcp dport 29500"
        answers = room.ask(0, [f"{asked} sport {10_000 + port}" for port in range(count)])
    far = {
        made.addressing.interface_name(end): made.addressing.end(end ^ 1).server
        for end in made.addressing.ends_of_servers[0]
    }
    taken = Counter(far[row["dev"]] for row in answers)
    assert set(taken) == {1, 5, 7}
    for path in paths:
        deviation = (count * path.weight * (1 - path.weight)) ** 0.5
        assert abs(taken[path.nodes[1]] - count * path.weight) < 4 * deviation


_LISTEN = """
import socket
with socket.create_server(("", 29500), backlog=64) as server:
    print("ready", flush=True)
    while True:
        with server.accept()[0] as caller:
            caller.sendall(caller.getsockname()[0].encode())
"""
_CALL = """
import socket, sys
for address in sys.argv[2:]:
    with socket.create_connection((address, 29500), timeout=10, source_address=(sys.argv[1], 0)) as there:
        assert there.recv(64).decode() == address, address
"""


def test_every_server_reaches_every_address_of_every_other(there: Deployment, tmp_path: Path) -> None:
    require_namespaces("sysctl", "tc")
    ways, addressing = there.tables.ways, there.addressing
    address = [
        addressing.identity(*pair) for pair in zip(ways.dst.tolist(), ways.identity.tolist(), strict=True)
    ]
    listening: list[subprocess.Popen[str]] = []
    with room_of(there) as room:
        set_up(room, there, tmp_path)
        try:
            for server in range(room.servers):
                command = ["ip", "netns", "exec", room.name(server), sys.executable, "-c", _LISTEN]
                listening.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            for one in listening:
                assert one.stdout is not None
                assert one.stdout.readline() == "ready\n"
            for server in range(room.servers):
                called = [address[way] for way in np.flatnonzero(ways.src == server)]
                room.run(server, sys.executable, "-c", _CALL, addressing.identity(server), *called)
        finally:
            for one in listening:
                one.kill()
                one.communicate()


def test_fibers_one_way_have_neighbors_and_macs(directed_plan: topoopt.Plan) -> None:
    made = deployment(directed_plan)
    files = FORMATS["iproute2"].write(made)
    addressing = made.addressing
    for server, name in enumerate(addressing.server_names):
        text = str(files[f"{name}.batch"])
        ends = addressing.ends_of_servers[server]
        for end in ends:
            hears = f"neighbor replace {addressing.link_address(end ^ 1)} lladdr {addressing.mac(end ^ 1)} "
            assert (f"{hears}dev {addressing.interface_name(end)} nud permanent" in text) == (end % 2 == 0)
            assert f"link set dev {addressing.interface_name(end)} address {addressing.mac(end)}" in text


def test_cables_are_asked_who_is_there(twelve: topoopt.Plan) -> None:
    files = FORMATS["iproute2"].write(deployment(twelve))
    assert "neighbor" not in "".join(map(str, files.values()))


def test_names_that_linux_does_not_take_are_refused(twelve: topoopt.Plan) -> None:
    made = deployment(twelve)
    first = made.inventory.servers[0]
    for changed, message in (
        (replace(first, name="row 1/a"), 'server "row 1/a": no host name'),
        (
            replace(first, interfaces=(replace(first.interfaces[0], name="a" * 16), *first.interfaces[1:])),
            f'srv000: interface "{"a" * 16}": no name that Linux takes',
        ),
    ):
        odd = replace(made.inventory, servers=(changed, *made.inventory.servers[1:]), cables=())
        with pytest.raises(Infeasible, match=message):
            FORMATS["iproute2"].write(replace(made, inventory=odd))
