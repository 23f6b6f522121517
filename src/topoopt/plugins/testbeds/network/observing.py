"""What a running network is asked, and how a cable is broken."""

from collections.abc import Iterable, Mapping
from typing import Any

from topoopt.plugins.testbeds.network.layout import identity
from topoopt.plugins.testbeds.network.netlink import port_indices, pyroute2_here

Question = tuple[int, int, str]
"""Source and destination of a packet, and the interface by which it came in; nothing where the source itself asks."""


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
    """Break the cable of an interface; what it has counted stays."""
    kernel.link("set", index=port_indices(kernel)[name], state="down")


def next_ports(kernel: Any, questions: Iterable[Question]) -> list[str]:
    """Return the interface by which each packet goes on, as the kernel finds it; nothing where it has no route."""
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
