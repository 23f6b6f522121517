"""What one iteration moves over a fabric: by pair of servers and by link."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.door import shows_itself
from topoopt.base.frame import Frame, frame
from topoopt.routing.fabric import Fabric
from topoopt.routing.link_loads import link_loads
from topoopt.schema.files import write_atomically, write_csv
from topoopt.workloads import Traffic


@shows_itself
@dataclass(frozen=True, slots=True, eq=False)
class LaidTraffic:
    """What one iteration moves over a fabric.

    Attributes
    ----------
    model, strategy : str
        Names, or in words.
    mp_bytes, allreduce_bytes : float64 arrays, shape (servers, servers)
        From server to server: transfers, and the AllReduces along their rings.
    link_bytes : float64 array, shape (links,)
        Both on the links, forwarded bytes included.
    """

    model: str
    strategy: str
    traffic: Traffic
    fabric: Fabric
    mp_bytes: Floats
    allreduce_bytes: Floats
    link_bytes: Floats

    def pairs(self) -> list[dict[str, Any]]:
        """Return every ordered pair of servers that exchanges bytes."""
        src, dst = np.nonzero(self.mp_bytes + self.allreduce_bytes)
        columns = src, dst, self.allreduce_bytes[src, dst], self.mp_bytes[src, dst]
        names = "src", "dst", "allreduce_bytes", "mp_bytes"
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def links(self) -> list[dict[str, Any]]:
        """Return every link and what it carries."""
        return [
            {"src": link.src, "dst": link.dst, "bandwidth_bps": link.bandwidth_bps, "bytes": size}
            for link, size in zip(self.fabric.topology, self.link_bytes.tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        demand = self.traffic
        return {
            "model": self.model,
            "servers": demand.servers,
            "strategy": self.strategy,
            "allreduce_bytes": demand.allreduce_bytes,
            "allreduce_wire_bytes": demand.allreduce_wire_bytes,
            "mp_bytes": demand.mp_bytes,
            "allreduce_groups": [
                {"members": list(group.members), "bytes": group.size_bytes} for group in demand.allreduce
            ],
            "link_bytes_max": float(self.link_bytes.max(initial=0.0)),
            "pairs": self.pairs(),
            "links": self.links(),
        }

    def to_frame(self) -> Frame:
        """Return a row for each pair of servers, as pandas has it."""
        return frame(self.pairs())

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write every pair and every link.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        rows: list[tuple[Any, ...]] = []
        for row in self.pairs():
            sizes = (row["allreduce_bytes"], row["mp_bytes"])
            rows.append(("pair", row["src"], row["dst"], *sizes, sum(sizes)))
        rows += [("link", row["src"], row["dst"], "", "", row["bytes"]) for row in self.links()]
        write_csv(path, ("kind", "src", "dst", "allreduce_bytes", "mp_bytes", "bytes"), rows)

    def write_matrix(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes of all pairs as a square CSV, which is a job's traffic where it is read again.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        rows = (self.mp_bytes + self.allreduce_bytes).round().astype("int64").tolist()
        write_atomically(os.fspath(path), "".join(",".join(map(str, row)) + "\n" for row in rows))


def lay_traffic(model: str, strategy: str, demand: Traffic, fabric: Fabric) -> LaidTraffic:
    """Lay a demand on a fabric: transfers on routes, AllReduce on the walks of its rings."""
    mp_bytes = demand.mp_matrix()
    logical = np.zeros_like(mp_bytes)
    on_links = link_loads(fabric.topology, fabric.routes, mp_bytes)
    for group in demand.allreduce:
        rings = fabric.rings[group.members]
        share = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            members = np.asarray(ring.members)
            np.add.at(logical, (members, np.roll(members, -1)), share)
            np.add.at(on_links, fabric.topology.link_ids(*ring.edges()), share)
    return LaidTraffic(model, strategy, demand, fabric, mp_bytes, logical, on_links)
