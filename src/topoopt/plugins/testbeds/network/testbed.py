"""Counters of a running testbed over time: how many bytes every link had carried by when.

Each server's table of interfaces is opened once, from inside its namespace, and read repeatedly: a reading takes
microseconds, so that it hardly disturbs the measurement.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.machine import as_errors, later
from topoopt.plugins.testbeds.namespaces import FOLDER, inside, inside_new
from topoopt.plugins.testbeds.network.construction import (
    PREFIX,
    TestbedState,
    change_cables,
    claim,
    make_network,
    process_started,
    remove,
    route_servers,
    write_state,
)
from topoopt.plugins.testbeds.network.layout import Layout, identity, node_name
from topoopt.plugins.testbeds.network.netlink import port_indices, pyroute2_here, speaking

_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def _veth(kernel: Any) -> None:
    kernel.link("add", ifname="one", kind="veth", peer={"ifname": "other"})


def _bucket(kernel: Any) -> None:
    index = kernel.link_lookup(ifname="one")[0]
    kernel.tc("add", "tbf", index, 0x10000, rate=1_000_000, burst=20_000, limit=100_000)


def _bridge(kernel: Any) -> None:
    kernel.link("add", ifname="switch", kind="bridge")


def _settings(kernel: Any) -> None:
    _FORWARD.write_text("1")


def _rules(kernel: Any) -> None:
    kernel.rule("add", src="10.255.0.1", src_len=32, table=1000, priority=1000)


_FEATURES: tuple[tuple[str, str, Callable[[Any], None]], ...] = (
    ("veth pairs", "CONFIG_VETH", _veth),
    ("token buckets", "CONFIG_NET_SCH_TBF", _bucket),
    ("bridges", "CONFIG_BRIDGE", _bridge),
    ("policy routing", "CONFIG_IP_MULTIPLE_TABLES", _rules),
    ("settings that can be written", "/proc/sys; a container has to be privileged", _settings),
)
Question = tuple[int, int, str]
"""Source and destination of a packet, and the interface by which it came in; nothing at the source."""


@dataclass(frozen=True, slots=True)
class PortBytes:
    """Kernel's byte counts at a port, with headers, since it was made.

    Attributes
    ----------
    src, dst : int
        The node that sends, and the one at the other end; a switch is number ``servers``.
    dropped_packets : int
        Packets for which its queue had no room.
    """

    src: int
    dst: int
    name: str
    sent_bytes: int
    sent_packets: int
    dropped_packets: int


class Testbed:
    """Namespaces, cables and routes as a layout has them; make one with :func:`build`."""

    __test__ = False

    def __init__(self, state: TestbedState, layout: Layout) -> None:
        self.state = state
        self.layout = layout

    @property
    def name(self) -> str:
        """Name of the testbed."""
        return self.state.name

    @property
    def scale(self) -> float:
        """Factor by which its links are slower than those of the plan."""
        return self.state.scale

    def namespace(self, node: int) -> str:
        """Return the name of a node's namespace."""
        return self.state.namespaces[node]

    def namespace_file(self, node: int) -> Path:
        """Return the file by which a process enters a node's namespace."""
        return FOLDER / self.namespace(node)

    def counters(self) -> tuple[PortBytes, ...]:
        """Return the counters of every sending port of a server or the switch, by node and name."""
        rows: list[PortBytes] = []
        for node, ports in self.layout.ports_of.items():
            counted = speaking(self.namespace(node), read_counters)
            for near, far in ports:
                if near.name in counted:
                    rows.append(PortBytes(near.node, far.node, near.name, *counted[near.name]))
        return tuple(sorted(rows, key=lambda row: (row.src, row.name)))

    def cut(self, a: int, b: int) -> None:
        """Break a cable between two servers, of parallel ones the first; both kernels notice it.

        Raises
        ------
        InvalidInput
            If there is none.
        """
        broken = [cable for cable in self.layout.cables if {cable.a.node, cable.b.node} == {a, b}]
        if not broken:
            raise InvalidInput(f"cut {a}-{b}: there is no cable between servers {a} and {b}")
        with later():
            for near, _ in broken[0].ends:
                speaking(self.namespace(near.node), take_down, near.name)

    def reroute(self, layout: Layout) -> None:
        """Change the forwarding to another layout, after its cables are plugged in and others pulled.

        Raises
        ------
        InvalidInput
            If it has other servers, or hangs on a switch.
        """
        if layout.servers != self.layout.servers or layout.switch or self.layout.switch:
            raise InvalidInput(f"reroute: expected a layout of links between {self.layout.servers} servers")
        with later():
            change_cables(self.state, self.layout, layout)
            route_servers(self.state, layout)
            self.layout = layout

    def paths(self) -> Mapping[tuple[int, int], tuple[int, ...]]:
        """Return the nodes on the path of every pair's packets, by querying the kernel of one server after the
        other.

        A path that ends before its destination is one on which packets are lost.
        """
        layout = self.layout
        pairs = [(src, dst) for src in range(layout.servers) for dst in range(layout.servers) if src != dst]
        walked: dict[tuple[int, int], list[int]] = {pair: [pair[0]] for pair in pairs}
        through: dict[tuple[int, int], str] = {}
        under_way = pairs
        while under_way:
            asked: dict[int, list[Question]] = {}
            for pair in under_way:
                asked.setdefault(walked[pair][-1], []).append((*pair, through.get(pair, "")))
            under_way = []
            for server, questions in asked.items():
                ports = {near.name: far for near, far in layout.ports_of[server]}
                names = speaking(self.namespace(server), next_ports, questions)
                for (src, dst, _), name in zip(questions, names, strict=True):
                    far = ports.get(name)
                    if far is None:
                        continue
                    walked[src, dst].append(far.node)
                    through[src, dst] = far.name
                    if far.node == layout.servers:  # a switch knows who is where
                        walked[src, dst].append(dst)
                    elif far.node != dst and walked[src, dst].count(far.node) == 1:
                        under_way.append((src, dst))
        return {pair: tuple(nodes) for pair, nodes in walked.items()}


_TABLE = "/proc/thread-self/net/dev"
_LARGEST_TABLE_BYTES = 1 << 20
_RECEIVED, _SENT = 0, 8
"""Columns of the table, behind the name."""
Ends = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CounterReading:
    """Cumulative bytes of all links at one moment.

    Attributes
    ----------
    time_s : float
        Since the first reading.
    sent_bytes : mapping from (sender, receiver) to int
        Bytes with all headers, parallel links together; a switch is number ``servers``.
    """

    time_s: float
    sent_bytes: Mapping[Ends, int]


@contextmanager
def counting(testbed: Testbed, step_s: float) -> Iterator[list[CounterReading]]:
    """Read the counters of all links at this distance while the context lasts; at its end the list is full.

    The links are those of the layout at the beginning.
    """
    readings: list[CounterReading] = []
    layout, stop = testbed.layout, Event()
    with ExitStack() as opened:
        tables = {}
        for server in range(layout.servers):
            tables[server] = inside(testbed.namespace(server), lambda: os.open(_TABLE, os.O_RDONLY))
            opened.callback(os.close, tables[server])
        reader = Thread(target=_read_on, args=(layout, tables, step_s, stop, readings), daemon=True)
        reader.start()
        try:
            yield readings
        finally:
            stop.set()
            reader.join()


def _read_on(
    layout: Layout, tables: Mapping[int, int], step_s: float, stop: Event, readings: list[CounterReading]
) -> None:
    """Read until stopped, and once more then."""
    first_s = time.monotonic()
    last = False
    while not last:
        last = stop.is_set()
        at_s = time.monotonic() - first_s
        readings.append(CounterReading(at_s, _carried(layout, tables)))
        stop.wait(max(0.0, at_s + step_s - (time.monotonic() - first_s)))


def _carried(layout: Layout, tables: Mapping[int, int]) -> Mapping[Ends, int]:
    """Return the bytes of each link: sent by servers, and received by them from a switch."""
    carried: dict[Ends, int] = {}
    for server, table in tables.items():
        counted = _columns(os.pread(table, _LARGEST_TABLE_BYTES, 0).decode())
        for near, far in layout.ports_of[server]:
            if near.name not in counted:  # a port whose cable was pulled
                continue
            numbers = counted[near.name]
            carried[server, far.node] = carried.get((server, far.node), 0) + numbers[_SENT]
            if far.node == layout.servers:
                carried[far.node, server] = carried.get((far.node, server), 0) + numbers[_RECEIVED]
    return carried


def _columns(table: str) -> Mapping[str, list[int]]:
    """Return the numbers of each interface of ``/proc/net/dev``; its first two lines are headings."""
    rows = (line.partition(":") for line in table.splitlines()[2:])
    return {name.strip(): [int(cell) for cell in cells.split()] for name, _, cells in rows}


@contextmanager
def build(
    layout: Layout, name: str, scale: float, kept: bool = False, congestion: tuple[str, ...] = ()
) -> Iterator[Testbed]:
    """Create a testbed; it is removed at the end of the context, however that ends.

    Parameters
    ----------
    layout : Layout
        Made by :func:`direct_layout` or :func:`switch_layout`.
    name : str
        Unique name of the testbed; its namespaces are ``topoopt-NAME-s0`` and so on.
    scale : float
        Divisor of the bandwidths.
    kept : bool
        Whether it stays after the context where all went well, until :func:`remove`.
    congestion : tuple of str
        Names under which congestion controls will be registered; they are unregistered with the testbed.

    Raises
    ------
    InvalidInput
        If the machine cannot have one, or the name is taken.
    """
    check_machine()
    names = tuple(f"{PREFIX}{name}-{node_name(layout, node)}" for node in range(layout.nodes))
    state = TestbedState(
        name,
        names,
        layout.servers,
        len(layout.cables),
        layout.forwarding,
        scale,
        layout.largest_bandwidth_bps / scale,
        os.getpid(),
        process_started(os.getpid()),
        kept,
        ready=False,
        congestion=congestion,
    )
    built = False
    with as_errors():
        try:
            with later():
                claim(state)
                built = True
                make_network(state, layout)
                state = replace(state, ready=True)
                write_state(state)
            yield Testbed(state, layout)
        except BaseException:
            kept = False
            raise
        finally:
            if built and not kept:
                with later():
                    remove(state)


def read_counters(kernel: Any) -> Mapping[str, tuple[int, int, int]]:
    """Return the bytes and packets that each interface of a namespace has sent, and the packets its queue dropped."""
    drops: dict[int, int] = {}
    for queue in kernel.get_qdiscs():
        counted = queue.get_attr("TCA_STATS2")
        basic = counted.get_attr("TCA_STATS_QUEUE") if counted is not None else None
        if basic is not None:
            drops[queue["index"]] = drops.get(queue["index"], 0) + basic["drops"]
    counts = {}
    for link in kernel.get_links():
        sent = link.get_attr("IFLA_STATS64")
        counts[link.get_attr("IFLA_IFNAME")] = (
            sent["tx_bytes"],
            sent["tx_packets"],
            drops.get(link["index"], 0),
        )
    return counts


def take_down(kernel: Any, name: str) -> None:
    """Break the cable of an interface; its counters stay."""
    kernel.link("set", index=port_indices(kernel)[name], state="down")


def next_ports(kernel: Any, questions: Iterable[Question]) -> list[str]:
    """Return the kernel's output interface for each packet; nothing where it has no route."""
    indices = port_indices(kernel)
    names = {index: name for name, index in indices.items()}
    found = []
    for src, dst, came_from in questions:
        words: dict[str, Any] = {"dst": identity(dst), "src": identity(src)}
        if came_from:
            words["iif"] = indices[came_from]
        try:
            (route,) = kernel.route("get", **words)
        except pyroute2_here().NetlinkError:
            found.append("")
        else:
            found.append(names[route.get_attr("RTA_OIF")])
    return found


def check_machine() -> None:
    """Refuse, in one line, a host that cannot run a testbed.

    Raises
    ------
    InvalidInput
        If this is not Linux, pyroute2 is missing, or the kernel or the right to use it.
    """
    if sys.platform != "linux":
        raise InvalidInput(f"testbed: needs Linux (network namespaces), this is {sys.platform}")
    pyroute2_here()
    try:
        inside_new(_try_all)
    except PermissionError:
        raise InvalidInput("testbed: making network namespaces needs root; run it as root (sudo)") from None
    except OSError as error:
        raise InvalidInput(
            f"testbed: this kernel has no network namespaces (CONFIG_NET_NS): {error}"
        ) from None


def _try_all() -> None:
    with pyroute2_here().IPRoute() as kernel:
        for what, option, attempt in _FEATURES:
            try:
                attempt(kernel)
            except Exception as error:
                if isinstance(error, OSError) or hasattr(error, "code"):
                    raise InvalidInput(f"testbed: this kernel has no {what} ({option}): {error}") from None
                raise
