"""A row for every link of a result: what it carried and what its queue saw."""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulation.result import SimResult


class LinkRow(NamedTuple):
    """One directed link; of a fabric of circuits one ordered pair of servers, with all circuits that it may get.

    ``utilization`` is of the time until the last task is done. ``None`` where the simulator does not know.
    """

    src: int
    dst: int
    bandwidth_bps: float
    bytes: float
    utilization: float
    packets: int | None
    marks: int | None
    drops: int | None
    queue_peak_bytes: int | None


def link_statistics(result: SimResult, fabric: Fabric) -> list[LinkRow]:
    """Return the links in the order of the topology; pairs of servers that never had bytes are left out."""
    src, dst, bandwidth_bps = _links(fabric)
    duration_s = float(result.finish_s.max(initial=0.0))
    seconds = result.link_bytes * 8.0 / bandwidth_bps
    share = seconds / duration_s if duration_s else seconds
    known = [column.tolist() for column in (src, dst, bandwidth_bps, result.link_bytes, share)]
    packet = result.packet
    if packet is None:
        counted = [[None] * len(src)] * 4
    else:
        counts = packet.link_packets, packet.link_marks, packet.link_drops, packet.link_queue_peak_bytes
        counted = [column.tolist() for column in counts]
    rows = map(LinkRow._make, zip(*known, *counted, strict=True))
    return [row for row in rows if row.bytes or fabric.reconfiguration is None]


def _links(fabric: Fabric) -> tuple[Ints, Ints, Floats]:
    topology, rule = fabric.topology, fabric.reconfiguration
    wired = topology.src.astype(np.int64), topology.dst.astype(np.int64), topology.bandwidth_bps
    if rule is None:
        return wired
    if isinstance(rule, RegionalReconfiguration):
        pairs = rule.pairs(topology.servers)
        optical = (*pairs, np.full(len(pairs[0]), rule.degree * rule.bandwidth_bps))
        return tuple(np.concatenate(both) for both in zip(wired, optical, strict=True))  # type: ignore[return-value]
    src, dst = np.divmod(np.arange(topology.servers**2), topology.servers)
    return src, dst, np.full(len(src), rule.degree * rule.bandwidth_bps)
