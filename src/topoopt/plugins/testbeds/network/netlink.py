"""Requests to the kernel's network, through pyroute2: the contents of a namespace, from a layout."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from topoopt.base.extras import library
from topoopt.plugins.testbeds.namespaces import FOLDER, inside
from topoopt.plugins.testbeds.network.layout import Cable, Layout, Port, ServerRoute, Shaping, identity

PERMANENT = 0x80
"""State of a neighbor that is known for good."""

_STATIC, _OF_MASTER = 0x40, 0x04  # a bridge forwards to it, and need not learn it
_LOOPBACK = 1  # its index, in every namespace
_MAIN_TABLE, _FIRST_TABLE, _PREFERENCE = 254, 1000, 1000
_PROTOCOL = 84  # whose routes these are; a number of our own

R = TypeVar("R")


def pyroute2_here() -> Any:
    """Import and return ``pyroute2``; it is imported only here.

    Raises
    ------
    InvalidInput
        If it is not installed.
    """
    return library("pyroute2", "testbed", "testbed")


def speaking(name: str, function: Callable[..., R], *arguments: Any) -> R:
    """Return the result of a function that talks to the kernel (its first argument) inside a namespace."""

    def open_and_call() -> R:
        with pyroute2_here().IPRoute() as kernel:
            return function(kernel, *arguments)

    return inside(name, open_and_call)


def set_up_node(kernel: Any, node: int, layout: Layout) -> None:
    """Apply a namespace's settings; for a server also its identity, as the first address of its loopback.

    Gloo takes the first address of ``lo`` for that interface.
    """
    for key, value in layout.shaping.settings.items():
        place = Path("/proc/sys", *key.split("."))
        if place.exists():  # a kernel may have no IPv6
            place.write_text(value)
    if node >= layout.servers:
        return
    kernel.link("set", index=_LOOPBACK, state="up")
    kernel.addr("delete", index=_LOOPBACK, address="127.0.0.1", prefixlen=8)
    kernel.addr("add", index=_LOOPBACK, address=identity(node), prefixlen=32)
    kernel.addr("add", index=_LOOPBACK, address="127.0.0.1", prefixlen=8, scope=0)


def add_cables(kernel: Any, cables: Iterable[tuple[Cable, str]], mtu_bytes: int) -> None:
    """Create the cables whose first end is in this namespace; the namespace of the other end is named."""
    one_segment = {"gso_max_segs": 1, "gso_max_size": mtu_bytes}
    for cable, far in cables:
        with (FOLDER / far).open("rb") as handle:
            kernel.link(
                "add",
                ifname=cable.a.name,
                kind="veth",
                mtu=mtu_bytes,
                address=cable.a.mac,
                **one_segment,
                peer={
                    "ifname": cable.b.name,
                    "mtu": mtu_bytes,
                    "address": cable.b.mac,
                    "net_ns_fd": handle.fileno(),
                    **one_segment,
                },
            )


def set_up_ports(kernel: Any, ports: Iterable[tuple[Port, Port]], scale: float, shaping: Shaping) -> None:
    """Set the addresses, neighbors and bandwidths of ports, and bring them up."""
    indices = port_indices(kernel)
    for near, far in ports:
        index, rate_bps = indices[near.name], near.bandwidth_bps / scale
        if near.address:
            kernel.addr("add", index=index, address=near.address, prefixlen=31)
        bucket, rate = shaping.bucket_bytes(rate_bps), round(rate_bps / 8)
        kernel.tc("add", "tbf", index, 0x10000, rate=rate, burst=bucket, limit=shaping.queue_bytes)
        kernel.link("set", index=index, state="up")
        if near.address:
            kernel.neigh("add", dst=far.address, lladdr=far.mac, ifindex=index, state=PERMANENT)


def hang_on_switch(kernel: Any, layout: Layout, server: int) -> None:
    """Route all destinations of a server over its one port, with static neighbors."""
    index = port_indices(kernel)["nic0"]
    for cable in layout.cables:
        other = cable.a.node
        if other != server:
            kernel.route(
                "add",
                dst=f"{identity(other)}/32",
                oif=index,
                scope="link",
                prefsrc=identity(server),
                proto=_PROTOCOL,
            )
            kernel.neigh("add", dst=identity(other), lladdr=cable.a.mac, ifindex=index, state=PERMANENT)


def make_switch(kernel: Any, ports: Iterable[tuple[Port, Port]], mtu_bytes: int) -> None:
    """Join all ports of a namespace by a bridge with static entries and no own traffic."""
    kernel.link("add", ifname="bridge", kind="bridge", mtu=mtu_bytes, br_mcast_snooping=0)
    indices = port_indices(kernel)
    kernel.link("set", index=indices["bridge"], state="up")
    for near, far in ports:
        kernel.link("set", index=indices[near.name], master=indices["bridge"])
        kernel.fdb("add", ifindex=indices[near.name], lladdr=far.mac, state=_STATIC, flags=_OF_MASTER)


def port_indices(kernel: Any) -> Mapping[str, int]:
    """Return the index of each interface of a namespace."""
    return {link.get_attr("IFLA_IFNAME"): link["index"] for link in kernel.get_links()}


def set_routes(kernel: Any, server: int, routes: Iterable[ServerRoute]) -> None:
    """Replace all routes of ours in a namespace by these.

    Packets of the server itself use the main table; packets of another source, where needed, a table of that source.
    """
    _remove_routes(kernel)
    indices, sources = port_indices(kernel), set[int]()
    for route in routes:
        table = _MAIN_TABLE if route.source is None else _FIRST_TABLE + route.source
        hops = [{"gateway": far.address, "oif": indices[near.name]} for near, far in route.ports]
        where = hops[0] if len(hops) == 1 else {"multipath": [{**hop, "hops": 0} for hop in hops]}
        own = {"prefsrc": identity(server)} if table == _MAIN_TABLE else {}
        kernel.route(
            "add", dst=f"{identity(route.destination)}/32", table=table, proto=_PROTOCOL, **own, **where
        )
        if route.source is not None:
            sources.add(route.source)
    for source in sorted(sources):
        kernel.rule(
            "add", src=identity(source), src_len=32, table=_FIRST_TABLE + source, priority=_PREFERENCE
        )


def _remove_routes(kernel: Any) -> None:
    for route in kernel.get_routes(family=2, proto=_PROTOCOL):
        kernel.route(
            "delete",
            dst=f"{route.get_attr('RTA_DST')}/32",
            table=route.get_attr("RTA_TABLE"),
            proto=_PROTOCOL,
        )
    for rule in kernel.get_rules(family=2):
        if rule.get_attr("FRA_PRIORITY") == _PREFERENCE:
            kernel.rule(
                "delete",
                src=rule.get_attr("FRA_SRC"),
                src_len=32,
                table=rule.get_attr("FRA_TABLE"),
                priority=_PREFERENCE,
            )


def unplug(kernel: Any, names: Iterable[str]) -> None:
    """Remove interfaces, and with each the one at its other end."""
    indices = port_indices(kernel)
    for name in names:
        kernel.link("delete", index=indices[name])
