"""FRR takes every file, and gives the kernel the routes of the plan."""

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import topoopt
from tests.plugins.exports.namespaces import Room, require_namespaces, room_of
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.plugins.exports.deployment import ServerNetwork

_ROUTE = re.compile(r"ip route (\S+)/32 (\S+) (\S+)(?: weight (\d+))?(?: table (\d+))?")


def confs(made: Deployment) -> dict[str, str]:
    files = FORMATS["frr"].write(made)
    return {name: str(files[f"{name}/frr.conf"]) for name in made.addressing.server_names}


def asked(network: ServerNetwork) -> set[tuple[str, str, str, str]]:
    """Return the table, address, gateway and interface of every next hop."""
    tables = {"": network.main} | {str(table.number): table.routes for table in network.tables}
    return {
        (number, route.address, hop.via, hop.interface)
        for number, routes in tables.items()
        for route in routes
        for hop in route.hops
    }


@pytest.mark.parametrize("paths", ["hashed", "pinned"])
def test_static_routes_are_those_of_the_plan(twelve: topoopt.Plan, paths: str) -> None:
    made = replace(deployment(twelve), paths=paths)  # type: ignore[arg-type]
    for network, text in zip(made.networks, confs(made).values(), strict=True):
        found = _ROUTE.findall(text)
        assert {(table, *row) for *row, _, table in found} == asked(network)
        assert len(found) == text.count("ip route ") == len(asked(network))
        weights = {(table, address, via): int(weight or 1) for address, via, _, weight, table in found}
        for number, routes in [("", network.main), *((str(t.number), t.routes) for t in network.tables)]:
            for route in routes:
                total = sum(weights[number, route.address, hop.via] for hop in route.hops)
                whole = sum(hop.weight for hop in route.hops)
                for hop in route.hops:
                    share = weights[number, route.address, hop.via] / total
                    assert share == pytest.approx(hop.weight / whole, abs=1 / 254)


def test_rules_are_beside_the_routes(twelve: topoopt.Plan) -> None:
    made = deployment(twelve)
    files = FORMATS["frr"].write(made)
    for network in made.networks:
        text = str(files[f"{network.name}/ip.batch"])
        rules = [f"rule add preference 1000 from {t.source} lookup {t.number}" for t in network.tables]
        assert [line for line in text.splitlines() if line.startswith("rule")] == rules
        assert "net.ipv4.ip_forward = 1\n" in str(files[f"{network.name}/sysctl.conf"])


@pytest.mark.parametrize("paths", ["hashed", "pinned"])
def test_vtysh_takes_every_file(twelve: topoopt.Plan, paths: str, tmp_path: Path) -> None:
    """But for weights, which FRR has since 2026 and Debian 12 does not."""
    if shutil.which("vtysh") is None:
        pytest.skip("vtysh is not installed (Debian: frr)")
    made = replace(deployment(twelve), paths=paths)  # type: ignore[arg-type]
    for name, text in confs(made).items():
        (tmp_path / name).write_text(re.sub(r" weight \d+", "", text))
        done = subprocess.run(
            ["vtysh", "-C", "-f", str(tmp_path / name)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert (" weight " in text) == text.startswith("! Next hops have weights")
    assert any(" weight " in text for text in confs(made).values()) == (paths == "hashed")


def test_vtysh_would_refuse_a_mistake(tmp_path: Path) -> None:
    if shutil.which("vtysh") is None:
        pytest.skip("vtysh is not installed (Debian: frr)")
    (tmp_path / "wrong").write_text("ip route 10.99.0.1/32 10.9.0.1 eth0 tabel 5\n")
    command = ["vtysh", "-C", "-f", str(tmp_path / "wrong")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize("paths", ["hashed", "pinned"])
def test_frr_itself_gives_the_kernel_the_plan(twelve: topoopt.Plan, paths: str) -> None:
    """Three servers run zebra and staticd, and read their files as ``vtysh -b`` does; without weights, see above."""
    require_namespaces("vtysh")
    if not Path("/usr/lib/frr/zebra").exists():
        pytest.skip("zebra is not where Debian has it")
    made = replace(deployment(twelve), paths=paths)  # type: ignore[arg-type]
    files = FORMATS["frr"].write(made)
    with (
        tempfile.TemporaryDirectory(prefix="topoopt-frr-") as place,
        room_of(made) as room,
        ExitStack() as running,
    ):
        shutil.chown(place, "frr", "frr")
        for server, network in enumerate(made.networks):
            room.run(server, "ip", "-batch", "-", input=str(files[f"{network.name}/ip.batch"]))
        for server in range(3):
            folder = Path(place) / str(server)
            running.enter_context(daemons(room, server, folder))
            conf = re.sub(r" weight \d+", "", confs(made)[made.networks[server].name])
            (folder / "frr.conf").write_text(conf)
            vtysh(room, server, folder)
            assert routes_in_kernel(room, server, len(asked(made.networks[server]))) == asked(
                made.networks[server]
            )
            assert room.run(server, "cat", "/proc/sys/net/ipv4/ip_forward") == "1\n"


@contextmanager
def daemons(room: Room, server: int, folder: Path) -> Iterator[None]:
    """Run zebra and staticd on a server, with their sockets in a folder; end them afterwards."""
    folder.mkdir()
    shutil.chown(folder, "frr", "frr")
    started = []
    try:
        for name in ("zebra", "staticd"):
            words = ["-f", "/dev/null", "-i", f"{folder}/{name}.pid", "-z", f"{folder}/zserv.api", "-P", "0"]
            command = [f"/usr/lib/frr/{name}", *words, "--vty_socket", str(folder)]
            command = ["ip", "netns", "exec", room.name(server), *command]
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen(command, stdout=quiet, stderr=quiet))
            until(lambda name=name: (folder / f"{name}.vty").exists(), f"{name} is up")  # type: ignore[misc]
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def vtysh(room: Room, server: int, folder: Path) -> None:
    room.run(server, "vtysh", "--vty_socket", str(folder), "-f", str(folder / "frr.conf"))


def routes_in_kernel(room: Room, server: int, expected: int) -> set[tuple[str, str, str, str]]:
    """Return the kernel's next hops of FRR's routes when there are as many as expected."""
    found: set[tuple[str, str, str, str]] = set()

    def all_there() -> bool:
        rows = json.loads(room.run(server, "ip", "-json", "route", "show", "table", "all"))
        found.clear()
        found.update(
            (str(row.get("table", "")), row["dst"], hop["gateway"], hop["dev"])
            for row in rows
            if "gateway" in row or "nexthops" in row
            for hop in row.get("nexthops", [row])
        )
        return len(found) >= expected

    until(all_there, "routes are there")
    return found


def until(condition: Callable[[], bool], what: str, longest_s: float = 300.0) -> None:
    end = time.monotonic() + longest_s
    while not condition():
        assert time.monotonic() < end, f"after {longest_s:g} s it is not so that {what}"
        time.sleep(0.05)
