"""One iteration of each job of the MixNet paper on each fabric, with variants of MixNet and of TopoOpt."""

from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.finder import FabricShape
from topoopt.reproduction.mixnet_jobs import FABRICS, JOBS, fabric_of, simulated_step, step_of

AT_400G = 400e9
REFERENCE = "rail", 800e9
"""What Mixtral 8×22B's published times are normalized by: this one is 1.000."""


@dataclass(frozen=True, slots=True)
class MixnetPoint:
    """One iteration of a job on one fabric; ``circuits`` says how those of MixNet are handled, else empty."""

    model: str
    bandwidth_bps: float
    fabric: str
    circuits: str
    iteration_time_s: float
    compute_time_s: float
    bandwidth_tax: float


Variant = tuple[str, str, FabricShape, bool]
"""Fabric, what is special about its circuits, its settings, and whether passes are cut at every all-to-all."""

VARIANTS: tuple[Variant, ...] = (
    ("mixnet", "changes hidden but for what computing leaves", FabricShape(hiding="overlapped"), True),
    ("mixnet", "changes in 0 s", FabricShape(delay_s=0.0), False),
    ("mixnet", "4 of 8 ports electrical", FabricShape(electrical_ports=4), False),
)
"""What else MixNet could be."""


def mixnet_points(name: str, bandwidth_bps: float, variants: tuple[Variant, ...]) -> Iterator[MixnetPoint]:
    """Yield a job on the fabrics of the paper, on TopoOpt as its authors' code wires it, and on variants of MixNet."""
    step = step_of(JOBS[name], bandwidth_bps)
    usual = [(fabric, "", FabricShape(), False) for fabric in (*FABRICS, "topoopt-released")]
    for fabric, circuits, shape, one_by_one in (*usual, *variants):
        laid = fabric_of(fabric, step, bandwidth_bps, shape)
        found = simulated_step(step, laid, one_by_one=one_by_one)
        yield MixnetPoint(
            name,
            bandwidth_bps,
            fabric,
            circuits,
            found.iteration_time_s,
            found.compute_time_s,
            found.bandwidth_tax,
        )


def find_point(
    points: list[MixnetPoint], name: str, bandwidth_bps: float, fabric: str, circuits: str = ""
) -> MixnetPoint:
    """Return the one point of a case."""
    wanted = name, bandwidth_bps, fabric, circuits
    return next(one for one in points if (one.model, one.bandwidth_bps, one.fabric, one.circuits) == wanted)


def reference_s(points: list[MixnetPoint], one: MixnetPoint) -> float:
    """Return what a time is normalized by: rail at 800 Gb/s as published, else the fat-tree beside it."""
    if one.model == "mixtral-8x22b" and any(row.bandwidth_bps == REFERENCE[1] for row in points):
        return find_point(points, one.model, REFERENCE[1], REFERENCE[0]).iteration_time_s
    return find_point(points, one.model, one.bandwidth_bps, "fat-tree").iteration_time_s
