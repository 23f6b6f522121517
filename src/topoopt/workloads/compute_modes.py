"""The table of compute modes: where operator times come from, by name."""

from collections.abc import Callable, Mapping

from topoopt.base.errors import check_known
from topoopt.workloads.operator_graph import OperatorGraph
from topoopt.workloads.operator_timer import ImportedTimer, OperatorTimer
from topoopt.workloads.profile_timer import published_profile_timer
from topoopt.workloads.roofline_timer import Roofline, RooflineTimer


def _profile(
    graph: OperatorGraph, global_batch: float, accelerators_per_server: int, roofline: RooflineTimer
) -> OperatorTimer:
    return published_profile_timer(
        graph,
        global_batch=global_batch,
        fallback=roofline,
        accelerators_per_server=accelerators_per_server,
    )


def _roofline(
    graph: OperatorGraph, global_batch: float, accelerators_per_server: int, roofline: RooflineTimer
) -> OperatorTimer:
    return roofline


COMPUTE_MODES: Mapping[str, Callable[[OperatorGraph, float, int, RooflineTimer], OperatorTimer]] = {
    "profile": _profile,
    "roofline": _roofline,
}
"""Timer by mode. ``profile``: the authors' A100 measurements in FP32, the roofline where there is none."""


def operator_timer(
    graph: OperatorGraph,
    *,
    compute: str,
    global_batch: float,
    accelerators_per_server: int,
    roofline: Roofline,
) -> OperatorTimer:
    """Return the timer of a job; times that imported operators bring along go before the mode's.

    In ``profile`` mode a graph of the zoo gets a :class:`ProfileTimer`, which knows the measured parts too.

    ``profile`` holds for A100 servers in FP32 only: for another accelerator or precision the caller asks for
    ``roofline``.

    Raises
    ------
    InvalidInput
        If the mode is unknown.
    """
    check_known("compute", compute, COMPUTE_MODES)
    last = RooflineTimer(roofline, accelerators_per_server)
    timer = COMPUTE_MODES[compute](graph, global_batch, accelerators_per_server, last)
    imported = any(op.forward_time_s is not None for op in graph.operators)
    return ImportedTimer(timer) if imported else timer
