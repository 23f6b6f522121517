"""Operator times from a roofline: operations over peak, bytes over memory bandwidth, whichever is longer."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.workload.graph import Operator
from topoopt.workload.timer import OperatorTime, backward_factor
from topoopt.workload.zoo.layers import FLOAT_BYTES

OTHER = "other"
"""Entry of :attr:`Roofline.compute_efficiency` for the kinds that have none of their own."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """What one accelerator reaches.

    Attributes
    ----------
    peak_flops : float
        Peak operations per second in the precision used.
    memory_bandwidth_bytes_per_s : float
    compute_efficiency : mapping of str to float
        Reached part of the peak, by operator kind; ``other`` stands for kinds that are not listed.
    memory_efficiency : float
        Reached part of the memory bandwidth.
    launch_floor_s : float
        Added to every pass: what starting an operator costs.
    bytes_per_element : float
        4 for FP32; operator graphs count float32 bytes, which are scaled by it.
    source : str
        Where the figures come from.
    """

    peak_flops: float
    memory_bandwidth_bytes_per_s: float
    compute_efficiency: Mapping[str, float]
    memory_efficiency: float
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
        if OTHER not in self.compute_efficiency:
            raise InvalidInput(f'roofline: compute_efficiency: needs an entry "{OTHER}" for unlisted kinds')
        for kind, part in [*self.compute_efficiency.items(), ("memory", self.memory_efficiency)]:
            if not 0 < part <= 1:
                raise InvalidInput(f"roofline: efficiency of {kind}: must be in (0, 1], got {part}")


@dataclass(frozen=True, slots=True)
class RooflineTimer:
    """Times by the roofline model on a server of ``accelerators_per_server`` accelerators.

    One pass takes the longer of its operations at the reached peak and its bytes at the reached memory
    bandwidth, plus the launch floor. Each accelerator holds an equal range of the part's samples and reads
    all weights of the part once. Of ``k`` channel parts each has 1/k of the operations and weights; of its
    activations it reads or writes one side in full, so it moves (1 + 1/k)/2 of them (exact where input and
    output are equally wide). Embedding tables run on one accelerator; what they fetch is divided by ``k``.

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
        efficiency = r.compute_efficiency.get(op.kind, r.compute_efficiency[OTHER])
        pass_s = max(
            flops / (r.peak_flops * efficiency),
            moved_bytes / (r.memory_bandwidth_bytes_per_s * r.memory_efficiency),
        )
        backward_s = backward_factor(op) * pass_s
        return OperatorTime(pass_s + r.launch_floor_s, backward_s + r.launch_floor_s, "roofline")
