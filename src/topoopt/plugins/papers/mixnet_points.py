"""One iteration of each job of the MixNet paper on each fabric, with variants of MixNet and of TopoOpt."""

from collections.abc import Iterator, Sequence

from topoopt.finder import FabricShape
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.mixnet_jobs import FABRICS, JOBS, fabric_of, simulated_step, step_of
from topoopt.plugins.papers.published_jobs import times

AT_400G = 400e9
REFERENCE = "rail", 800e9
"""What Mixtral 8×22B's published times are normalized by: this one is 1.000."""


Variant = tuple[str, str, FabricShape, bool]
"""Fabric, what is special about its circuits, its settings, and whether passes are cut at every all-to-all."""

VARIANTS: tuple[Variant, ...] = (
    ("mixnet", "changes hidden but for what computing leaves", FabricShape(hiding="overlapped"), True),
    ("mixnet", "changes in 0 s", FabricShape(delay_s=0.0), False),
    ("mixnet", "4 of 8 ports electrical", FabricShape(electrical_ports=4), False),
)
"""What else MixNet could be."""


def mixnet_rows(name: str, bandwidth_bps: float, variants: tuple[Variant, ...]) -> Iterator[Row]:
    """Yield a job on the fabrics of the paper, on TopoOpt as its authors' code wires it, and on variants of MixNet.

    ``circuits`` says how those of MixNet are handled, where that is special.
    """
    step = step_of(JOBS[name], bandwidth_bps)
    usual = [(fabric, "", FabricShape(), False) for fabric in (*FABRICS, "topoopt-released")]
    for fabric, circuits, shape, one_by_one in (*usual, *variants):
        laid = fabric_of(fabric, step, bandwidth_bps, shape)
        result = simulated_step(step, laid, one_by_one=one_by_one)
        yield {
            "model": name,
            "bandwidth_bps": bandwidth_bps,
            "fabric": fabric,
            "circuits": circuits,
            **times(result),
        }


def time_s(rows: Sequence[Row], model: str, bandwidth_bps: float, fabric: str) -> float:
    """Return the iteration time of one case."""
    case = {"model": model, "bandwidth_bps": bandwidth_bps, "fabric": fabric, "circuits": ""}
    (row,) = (row for row in rows if case.items() <= row.items())
    return float(row["iteration_time_s"])


def reference_s(rows: Sequence[Row], model: str, bandwidth_bps: float) -> float:
    """Return what a time is normalized by: rail at 800 Gb/s as published, else the fat-tree beside it."""
    fabric, reference_bps = REFERENCE
    if model == "mixtral-8x22b" and any(row["bandwidth_bps"] == reference_bps for row in rows):
        return time_s(rows, model, reference_bps, fabric)
    return time_s(rows, model, bandwidth_bps, "fat-tree")
