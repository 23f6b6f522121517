"""Operator times from a roofline, and the compute modes `profile` and `roofline` by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.operator_timer import ImportedTimer, OperatorTime, OperatorTimer, backward_factor
from topoopt.workloads.profile_timer import published_profile_timer
from topoopt.workloads.zoo.layers import FLOAT_BYTES

OTHER = "other"
"""Entry of a :class:`Roofline`'s efficiencies for the operator kinds that have none of their own."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Attainable compute and memory rates of one accelerator.

    Attributes
    ----------
    peak_flops : float
        Peak operations per second in the precision used.
    memory_bandwidth_bytes_per_s : float
    compute_efficiency, memory_efficiency : mapping of str to float
        Attained part of the peak and of the memory bandwidth, by operator kind; ``other`` applies to unlisted kinds.
    launch_floor_s : float
        The least time of a pass: the launch of an operator.
    bytes_per_element : float
        4 for FP32; operator graphs count float32 bytes, which are scaled by it.
    """

    peak_flops: float
    memory_bandwidth_bytes_per_s: float
    compute_efficiency: Mapping[str, float]
    memory_efficiency: Mapping[str, float]
    launch_floor_s: float
    bytes_per_element: float = FLOAT_BYTES
    source: str = "user"

    def __post_init__(self) -> None:
        positive = ("peak_flops", "memory_bandwidth_bytes_per_s", "bytes_per_element")
        for name in positive:
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidInput(f"roofline: {name}: must be positive, got {getattr(self, name)}")
        if not 0 <= self.launch_floor_s < float("inf"):
            raise InvalidInput(f"roofline: launch_floor_s: must be >= 0, got {self.launch_floor_s}")
        for name in ("compute_efficiency", "memory_efficiency"):
            efficiency = getattr(self, name)
            if OTHER not in efficiency:
                raise InvalidInput(
                    f'roofline: {name}: needs an entry "{OTHER}" for the kinds that are not listed'
                )
            for kind, part in efficiency.items():
                if not 0 < part <= 1:
                    raise InvalidInput(f"roofline: {name}: {kind}: must be in (0, 1], got {part}")


@dataclass(frozen=True, slots=True)
class RooflineTimer:
    """Times by the roofline model on a server of ``accelerators_per_server`` accelerators.

    One pass takes the longest of its operations at the reached peak, its bytes at the reached memory bandwidth, and
    the launch floor. Each accelerator holds an equal range of the part's samples and reads all weights of the part
    once. Of ``k`` channel parts each has 1/k of the operations and weights; of its activations it reads or writes one
    side in full, so it moves (1 + 1/k)/2 of them (exact where input and output are equally wide). Embedding tables run
    on one accelerator; fetched bytes are divided by ``k``.

    References
    ----------
    .. [1] S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for
           multicore architectures", Communications of the ACM 52(4), 2009.
    """

    roofline: Roofline
    accelerators_per_server: int = 1

    def __post_init__(self) -> None:
        if self.accelerators_per_server < 1:
            raise InvalidInput(
                f"roofline: accelerators_per_server must be >= 1, got {self.accelerators_per_server}"
            )

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        r = self.roofline
        if op.is_embedding:
            per_accelerator, moved_part, weights_bytes = samples, 1.0 / channel_degree, 0.0
        else:
            per_accelerator = samples / self.accelerators_per_server
            moved_part = (1.0 + 1.0 / channel_degree) / 2.0
            weights_bytes = op.parameter_bytes / channel_degree
        flops = per_accelerator * op.forward_flops_per_sample / channel_degree
        moved = per_accelerator * op.memory_traffic_bytes_per_sample * moved_part + weights_bytes
        moved_bytes = moved * r.bytes_per_element / FLOAT_BYTES
        pass_s = max(
            flops / (r.peak_flops * _of_kind(r.compute_efficiency, op.kind)),
            moved_bytes / (r.memory_bandwidth_bytes_per_s * _of_kind(r.memory_efficiency, op.kind)),
        )
        backward_s = backward_factor(op) * pass_s
        return OperatorTime(max(pass_s, r.launch_floor_s), max(backward_s, r.launch_floor_s), "roofline")


def _profile(
    graph: OperatorGraph, global_batch: float, accelerators_per_server: int, roofline: RooflineTimer
) -> OperatorTimer:
    return published_profile_timer(
        graph, global_batch=global_batch, fallback=roofline, accelerators_per_server=accelerators_per_server
    )


COMPUTE_MODES: Mapping[str, Callable[[OperatorGraph, float, int, RooflineTimer], OperatorTimer]] = {
    "profile": _profile,
    "roofline": lambda graph, global_batch, accelerators_per_server, roofline: roofline,
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

    In ``profile`` mode a graph of the zoo gets a :class:`ProfileTimer`, which also covers the measured parts.

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


def _of_kind(efficiency: Mapping[str, float], kind: str) -> float:
    return efficiency[kind] if kind in efficiency else efficiency[OTHER]
