"""DualPipe: micro-batches enter a pipeline from both ends, and passes of opposite directions are done at once.

References
----------
.. [1] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1, Figure 5 and Table 2.
.. [2] github.com/deepseek-ai/DualPipe: the order of the passes of each rank, in eight steps.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step.schedule import Schedule

FORWARD, BACKWARD, WEIGHTS = range(3)
NEAR, FAR = range(2)
"""Directions as a worker sees them: of the micro-batches that enter at the end it is nearer to, and of the others."""

Pass = tuple[int, int, int]
"""Index into ``PASSES``, direction, micro-batch of it."""


def check_dualpipe(stages: int, micro_batches: int) -> None:
    """Refuse stages that have no partner, and micro-batches of a direction that do not fill the pipeline.

    Raises
    ------
    InvalidInput
    """
    if stages % 2:
        raise InvalidInput(f"pipelined step: dualpipe needs an even number of stages, got {stages}")
    if micro_batches < stages:
        raise InvalidInput(
            f"pipelined step: dualpipe needs at least as many micro-batches from each end as its {stages} stages, "
            f"got {micro_batches}"
        )


@lru_cache(maxsize=128)
def dualpipe_schedule(stage: int, stages: int, micro_batches: int) -> Schedule:
    """Return the passes of a stage's worker, which has a chunk and its mirror image from the other end.

    Chunks 0 to ``stages - 1`` are those of the micro-batches that enter at the first stage. A backward pass is done
    with the gradients of its weights as one, but for those that the schedule splits.

    Parameters
    ----------
    micro_batches : int
        That enter at each end.

    Raises
    ------
    InvalidInput
        If the stages are odd, or the micro-batches of an end fewer than they.

    Examples
    --------
    >>> order = dualpipe_schedule(0, 2, 2)
    >>> ["FBW"[d] + ".'"[c // 2] + str(i) for d, c, i in zip(order.direction, order.chunk, order.micro_batch)][:7]
    ['F.0', "F'0", 'F.1', "B'0", "W'0", "F'1", 'B.0']
    """
    check_dualpipe(stages, micro_batches)
    worker = _Worker()
    half, from_end = stages // 2, min(stage, stages - 1 - stage)
    inner = half - 1 - from_end  # stages between this one and the middle
    for _ in range(2 * inner):
        worker.forward(NEAR)
    for _ in range(from_end + 1):
        worker.forward(NEAR)
        worker.forward(FAR)
    for _ in range(inner):
        worker.input_gradient(FAR)
        worker.weights()
        worker.forward(FAR)
    for turn in range(micro_batches - stages + from_end + 1):
        if turn or inner:
            worker.both(NEAR, FAR)
        else:  # in the middle the first two are not overlapped: the bubble is shorter so
            worker.forward(NEAR)
            worker.backward(FAR)
        worker.both(FAR, NEAR)
    for _ in range(inner):
        worker.backward(FAR)
        worker.both(FAR, NEAR)
    passes = [FAR, NEAR] * (from_end + 1)
    whole = from_end + 1
    for direction in passes[:whole]:
        worker.backward(direction)
    for direction in passes[whole:]:
        worker.input_gradient(direction)
    for _ in range(inner):
        worker.weights()
        worker.input_gradient(NEAR)
    for _ in range(from_end + 1):
        worker.weights()
    return worker.schedule(stage, stages)


@dataclass(slots=True)
class _Worker:
    """The passes of a worker so far, those done as one together."""

    done: list[tuple[Pass, ...]] = field(default_factory=list)
    later: list[Pass] = field(default_factory=list)
    """Gradients of weights that are still to be made, first come, first served."""
    forth: list[int] = field(default_factory=lambda: [0, 0])
    back: list[int] = field(default_factory=lambda: [0, 0])

    def forward(self, direction: int) -> None:
        self.done.append((self._forth(direction),))

    def backward(self, direction: int) -> None:
        self.done.append(self._back(direction))

    def both(self, forth: int, back: int) -> None:
        self.done.append((self._forth(forth), *self._back(back)))

    def input_gradient(self, direction: int) -> None:
        backward, weights = self._back(direction)
        self.done.append((backward,))
        self.later.append(weights)

    def weights(self) -> None:
        self.done.append((self.later.pop(0),))

    def schedule(self, stage: int, stages: int) -> Schedule:
        """Return the passes by chunk: of the direction that begins at the first stage, and of the other one."""
        chunks = [stage, 2 * stages - 1 - stage]
        if stage >= stages // 2:
            chunks.reverse()
        rows = [(kind, chunks[direction], batch) for passes in self.done for kind, direction, batch in passes]
        counts = np.array([len(passes) for passes in self.done])
        begins = np.cumsum(counts) - counts
        direction, chunk, batch = np.array(rows, np.int64).T
        begin, end = (np.repeat(places, counts) for places in (begins, begins + counts - 1))
        return Schedule(direction, chunk, batch, begin, end)

    def _forth(self, direction: int) -> Pass:
        self.forth[direction] += 1
        return FORWARD, direction, self.forth[direction] - 1

    def _back(self, direction: int) -> tuple[Pass, Pass]:
        self.back[direction] += 1
        batch = self.back[direction] - 1
        return (BACKWARD, direction, batch), (WEIGHTS, direction, batch)
