"""RDMA forwarding: packets followed by their MACs go as the plan says, and tc takes the rules."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import numpy as np
import pytest

import topoopt
from tests.plugins.exports.namespaces import require_namespaces, room_of
from topoopt.base.errors import Infeasible
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.routing.forwarding import follow

_ROUTE = re.compile(r"route replace (\S+)/32 src (\S+) via (\S+) dev (\S+)")
_NEIGHBOR = re.compile(r"neighbor replace (\S+) lladdr (\S+) dev (\S+) nud permanent")
_MAC = re.compile(r"link set dev (\S+) address (\S+)")
_RULE = re.compile(
    r"filter add block 1 protocol (\S+) pref (\d+) flower( vlan_ethtype ip)?(?: src_ip (\S+))? dst_ip (\S+) "
    r"action pedit ex munge eth dst set (\S+) munge eth src set (\S+) pipe action mirred egress redirect dev (\S+)"
)


@dataclass(frozen=True)
class Server:
    """What the files say of one server."""

    route: dict[str, tuple[str, str]]
    neighbor: dict[tuple[str, str], str]
    mac: dict[str, str]
    rules: Sequence[tuple[str, ...]]

    def rule(self, protocol: str, source: str, address: str) -> tuple[str, str]:
        """Return the new MAC and the interface of the first rule that matches."""
        for said, _, tagged, src, dst, mac, _, out in sorted(self.rules, key=lambda row: int(row[1])):
            match = not src or IPv4Address(source) in IPv4Network(src)
            if said == protocol and bool(tagged) == (protocol == "802.1Q") and match and dst == address:
                return mac, out
        raise AssertionError(f"no rule for {source} to {address}")


@pytest.fixture(scope="module", params=["plan", "directed"])
def made(twelve: topoopt.Plan, directed_plan: topoopt.Plan, request: pytest.FixtureRequest) -> Deployment:
    return replace(deployment(twelve if request.param == "plan" else directed_plan), paths="pinned")


def read(made: Deployment) -> list[Server]:
    files = FORMATS["rdma"].write(made)
    found = []
    for name in made.addressing.server_names:
        ip, tc = (str(files[f"{name}/{kind}.batch"]) for kind in ("ip", "tc"))
        rules = _RULE.findall(tc)
        assert len(rules) == tc.count("filter add")
        found.append(
            Server(
                {address: (via, out) for address, _, via, out in _ROUTE.findall(ip)},
                {(via, out): mac for via, mac, out in _NEIGHBOR.findall(ip)},
                dict(_MAC.findall(ip)),
                rules,
            )
        )
    return found


@pytest.mark.parametrize("protocol", ["ip", "802.1Q"])
def test_packets_go_along_the_paths_from_mac_to_mac(made: Deployment, protocol: str) -> None:
    """In transit they bear the MAC of a function without RDMA; on the last hop that of one with."""
    addressing, tables = made.addressing, made.tables
    topology, servers, links = tables.topology, read(made), follow(tables).links
    there = {(server, out): mac for server, one in enumerate(servers) for out, mac in one.mac.items()}
    assert len(set(there.values())) == len(there)
    far = {}
    for end in range(addressing.ends) if addressing.duplex else range(0, addressing.ends, 2):
        near, other = addressing.end(end), addressing.end(end ^ 1)
        for suffix in ("", "t"):
            out = addressing.interface_name(end) + suffix
            far[near.server, out] = other.server, addressing.interface_name(end ^ 1)
    for way in range(len(tables.ways)):
        src, dst = int(tables.ways.src[way]), int(tables.ways.dst[way])
        source = addressing.identity(src)
        address = addressing.identity(dst, int(tables.ways.identity[way]))
        via, out = servers[src].route[address]
        mac, here, walk = servers[src].neighbor[via, out], src, [src]
        while True:
            here, port = far[here, out]
            walk.append(here)
            if here == dst:
                assert mac == there[here, port]
                break
            assert mac == there[here, f"{port}t"]
            mac, out = servers[here].rule(protocol, source, address)
        row = slice(*links.pair_first[way : way + 2].tolist())
        crossed = topology.link_ids(np.array(walk[:-1]), np.array(walk[1:]))
        assert sorted(crossed.tolist()) == links.link[row].tolist()


def test_several_next_hops_are_refused(twelve: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match="sends on to one next hop; export with paths=pinned"):
        FORMATS["rdma"].write(deployment(twelve))


def test_tc_takes_every_rule(twelve: topoopt.Plan, tmp_path: Path) -> None:
    """Where the kernel has flower and pedit it has every rule then; where not, the kernel refuses them, not tc."""
    require_namespaces("tc")
    made = replace(deployment(twelve), paths="pinned")
    files = FORMATS["rdma"].write(made)
    with room_of(made, suffixes=("", "t")) as room:
        for server, name in enumerate(made.addressing.server_names):
            for kind in ("ip", "tc"):
                (tmp_path / f"{kind}.batch").write_text(str(files[f"{name}/{kind}.batch"]))
            room.run(server, "ip", "-batch", str(tmp_path / "ip.batch"))
            command = ["ip", "netns", "exec", room.name(server), "tc", "-force", "-batch"]
            done = subprocess.run(
                [*command, str(tmp_path / "tc.batch")], capture_output=True, text=True, check=False
            )
            rules = str(files[f"{name}/tc.batch"]).count("filter add")
            if done.returncode == 0:
                shown = room.run(server, "tc", "filter", "show", "block", "1")
                assert shown.count("dst_ip") == rules
                continue
            refused = done.stderr.count("We have an error talking to the kernel")
            assert refused == rules, done.stderr
            assert set(done.stderr.splitlines()) <= {
                "Error: TC classifier not found.",
                "Error: Failed to load TC action module.",
                "We have an error talking to the kernel",
                *(f"Command failed {tmp_path}/tc.batch:{line}" for line in range(1, rules + 100)),
            }
    if done.returncode:
        pytest.skip("tc takes the rules, but this kernel has no flower or no pedit: they are not tried in it")
