"""Servers as network namespaces, joined by veth pairs as a deployment says: to try exports on the kernel itself."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from topoopt.plugins.exports import Deployment
from topoopt.routing.forwarding import Addressing


@dataclass(frozen=True)
class Room:
    """Namespaces by server."""

    prefix: str
    servers: int

    def name(self, server: int) -> str:
        return f"{self.prefix}{server}"

    def run(self, server: int, *words: str, **options: Any) -> str:
        """Run a program on a server; it must succeed."""
        command = ["ip", "netns", "exec", self.name(server), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr or done.stdout}"
        return str(done.stdout)

    def ask(self, server: int, queries: Sequence[str]) -> list[dict[str, Any]]:
        """Return what ``ip`` answers to each of several lines, in one call; every one must have one answer."""
        if not queries:
            return []
        lines = "\n".join(queries) + "\n"
        answer = self.run(server, "ip", "-json", "-batch", "-", input=lines)
        found = [row for part in answer.splitlines() if part.strip() for row in json.loads(part)]
        assert len(found) == len(queries), f"{len(found)} answers to {len(queries)} questions"
        return found


def require_namespaces(*programs: str) -> None:
    """Skip a test where namespaces cannot be made, with the reason."""
    for program in ("ip", *programs):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    name = f"topoopt-try-{os.getpid()}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no network namespace can be made: {tried.stderr.strip()}")
    subprocess.run(["ip", "netns", "del", name], check=True)


@contextmanager
def room_of(deployment: Deployment, suffixes: Sequence[str] = ("",)) -> Iterator[Room]:
    """Yield servers joined as the deployment says, their interfaces by its names; whatever happens they are removed.

    Parameters
    ----------
    suffixes
        Of interface names; each is a pair of interfaces of its own.
    """
    addressing = deployment.addressing
    room = Room(f"topoopt-{uuid.uuid4().hex[:8]}-", addressing.servers)
    made: list[str] = []
    try:
        for server in range(room.servers):
            made.append(room.name(server))
            subprocess.run(["ip", "netns", "add", made[-1]], check=True)
        lines = _links(room, addressing, suffixes)
        if not addressing.duplex:
            made.append(f"{room.prefix}panel")
            subprocess.run(["ip", "netns", "add", made[-1]], check=True)
            lines = _links_to_panel(room, addressing, made[-1])
        subprocess.run(["ip", "-batch", "-"], input="".join(lines), text=True, check=True)
        if not addressing.duplex:
            up = "".join(f"link set dev {port} mtu 9000 up\n" for port in _ports(addressing))
            subprocess.run(["ip", "-n", made[-1], "-batch", "-"], input=up, text=True, check=True)
            command = ["ip", "netns", "exec", made[-1], "tc", "-batch", "-"]
            subprocess.run(command, input="".join(_fibers(addressing)), text=True, check=True)
        yield room
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def _links_to_panel(room: Room, addressing: Addressing, panel: str) -> Iterator[str]:
    """Yield a pair from every interface to a port of a panel, where fibers begin and end."""
    for server, ends in enumerate(addressing.ends_of_servers):
        for name in {addressing.interface_name(end): _port(addressing, end) for end in ends}.items():
            yield f"link add {name[0]} netns {room.name(server)} type veth peer name {name[1]} netns {panel}\n"


def _fibers(addressing: Addressing) -> Iterator[str]:
    """Yield rules by which what comes in at a port of the panel goes out where the fiber ends, and nowhere else."""
    for end in range(0, addressing.ends, 2):
        here, there = _port(addressing, end), _port(addressing, end + 1)
        yield f"qdisc add dev {here} ingress\n"
        rule = f"filter add dev {here} parent ffff: protocol all u32 match u32 0 0"
        yield f"{rule} action mirred egress redirect dev {there}\n"


def _ports(addressing: Addressing) -> list[str]:
    return sorted({_port(addressing, end) for end in range(addressing.ends)})


def _port(addressing: Addressing, end: int) -> str:
    here = addressing.end(end)
    return f"p{here.server}x{here.interface}"


def _links(room: Room, addressing: Addressing, suffixes: Sequence[str]) -> Iterator[str]:
    for end in range(0, addressing.ends, 2):
        a, b = addressing.end(end), addressing.end(end + 1)
        for suffix in suffixes:
            yield (
                f"link add {addressing.interface_name(end)}{suffix} netns {room.name(a.server)} type veth "
                f"peer name {addressing.interface_name(end + 1)}{suffix} netns {room.name(b.server)}\n"
            )
