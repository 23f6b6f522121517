"""The nouns StepTimes and ChunkTimes: where the seconds of an iteration go."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats

STEP_PARTS = ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")
"""Parts of an iteration's time; they add up to it."""


_ROW = ("iteration_time_s", *STEP_PARTS, "exposed_communication_s")


@dataclass(frozen=True, eq=False)
class StepTimes:
    """The parts of one iteration, each a float64 array of shape (configurations,), in seconds.

    ``iteration_time_s`` is the sum of the others without ``communication_s`` and ``exposed_communication_s``.

    Attributes
    ----------
    compute_s : array
        Kernels of the slowest stage with recomputation, logits and the optimizer's step.
    tp_s, cp_s, ep_s, pp_s, dp_s : array
        What the slowest stage waits for tensor, context, expert, pipeline and data parallel communication.
    bubble_s : array
        What the slowest stage waits for others while the pipeline fills and drains.
    exposed_communication_s : array
        Sum of the five waits.
    model_flops : array
        FLOPs per accelerator and iteration without recomputation, embedding lookups or work of no use.
    """

    iteration_time_s: Floats
    compute_s: Floats
    tp_s: Floats
    cp_s: Floats
    ep_s: Floats
    pp_s: Floats
    dp_s: Floats
    bubble_s: Floats
    exposed_communication_s: Floats
    model_flops: Floats

    def __len__(self) -> int:
        return len(self.iteration_time_s)

    def row(self, index: int) -> dict[str, float]:
        """Return the seconds of one configuration: the whole, its parts, and the waits together."""
        return {name: float(getattr(self, name)[index]) for name in _ROW}


@dataclass(frozen=True, eq=False)
class ChunkTimes:
    """Durations of one micro-batch in every chunk (virtual stage), in the order in which it passes through them.

    Attributes
    ----------
    forward_s, backward_s : float64 array, shape (pp · vpp,)
        With all that stays inside a server: kernels, recomputation (in ``backward_s``), and tensor, context and
        expert parallel collectives whose group fits into a server.
    step_s : float
        After the last micro-batch, on every accelerator: the optimizer and what is fixed.
    inside_s : float64 array, shape (pp · vpp,)
        Of both passes together: those collectives.
    weights_s : float64 array, shape (pp · vpp,)
        Of ``backward_s``: the gradients of weights, which no other chunk waits for.
    """

    forward_s: Floats
    backward_s: Floats
    step_s: float
    inside_s: Floats
    weights_s: Floats = field(default_factory=lambda: np.zeros(()))
