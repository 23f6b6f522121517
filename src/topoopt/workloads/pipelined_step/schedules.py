"""Pipeline schedules: 1F1B, interleaved 1F1B and DualPipe, and the order of passes that each gives a worker.

ZB-H1 is 1F1B with split backward passes, so that gradients of weights fill idle time. In DualPipe micro-batches
enter a pipeline from both ends, and passes of opposite directions are done at once.

References
----------
.. [1] P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.2, Figure 2 and Table 2.
.. [2] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1, Figure 5 and Table 2.
.. [3] github.com/deepseek-ai/DualPipe: the order of the passes of each rank, in eight steps.
.. [4] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021,
   section 2.2: the schedules with and without interleaving, and Figure 4.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Columns, Ints
from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Schedule(Columns):
    """Passes of one worker in their order, each array of shape (passes,).

    Attributes
    ----------
    direction : int64 array
        Index into :data:`~topoopt.workloads.pipelined_step.PASSES`.
    chunk : int64 array
        Chunk of each pass, numbered over the whole pipeline.
    micro_batch : int64 array
        Micro-batch of each pass, numbered within the chunk.
    begin, end : int64 arrays
        Places of the first and the last pass of those done as one: they begin when all inputs are there, and their
        outputs are sent when all are done. The place itself for a single pass.
    """

    direction: Ints
    chunk: Ints
    micro_batch: Ints
    begin: Ints
    end: Ints


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
    with the gradients of its weights as one, except where the schedule splits them.

    Parameters
    ----------
    micro_batches : int
        Micro-batches that enter at each end.

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


def warm_up_passes(stage: int, stages: int, chunks_per_stage: int, micro_batches: int) -> int:
    """Return the number of forward passes that a worker does before it alternates.

    Examples
    --------
    >>> [warm_up_passes(stage, 4, 1, 8) for stage in range(4)], warm_up_passes(0, 4, 2, 8)
    ([3, 2, 1, 0], 10)
    """
    after = stages - 1 - stage
    most = after if chunks_per_stage == 1 else 2 * after + (chunks_per_stage - 1) * stages
    return min(most, chunks_per_stage * micro_batches)


def check_schedule(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    """Refuse micro-batches that the schedule cannot take.

    Raises
    ------
    InvalidInput
        If the schedule is interleaved and the micro-batches are no multiple of the stages.
    """
    if chunks_per_stage > 1 and micro_batches % stages:
        lower = micro_batches // stages * stages
        near = " or ".join(str(value) for value in (lower, lower + stages) if value)
        raise InvalidInput(
            f"micro-batches: the interleaved schedule needs a multiple of the {stages} stages, "
            f"got {micro_batches}; nearest: {near}"
        )


def stage_schedule(stage: int, stages: int, chunks_per_stage: int, micro_batches: int) -> Schedule:
    """Return the passes of a stage's worker: some forward, then one forward and one backward, then the rest.

    Interleaved, a worker takes ``stages`` micro-batches through one of its chunks before it turns to the next.

    Raises
    ------
    InvalidInput
        If the schedule is interleaved and the micro-batches are no multiple of the stages.

    Examples
    --------
    >>> order = stage_schedule(0, 2, 1, 3)
    >>> ["FB"[d] + str(i) for d, i in zip(order.direction, order.micro_batch)]
    ['F0', 'F1', 'B0', 'F2', 'B1', 'B2']
    """
    check_schedule(stages, chunks_per_stage, micro_batches)
    total = chunks_per_stage * micro_batches
    number = np.arange(total)
    warm_up = warm_up_passes(stage, stages, chunks_per_stage, micro_batches)
    forward_place = number + np.maximum(number - warm_up, 0)
    backward_place = number + np.minimum(number + warm_up + 1, total)
    local, micro_batch = _interleaved(number, stages, chunks_per_stage)
    backward, chunk, batch = np.zeros((3, 2 * total), np.int64)
    backward[backward_place] = 1
    for place, own in ((forward_place, local), (backward_place, chunks_per_stage - 1 - local)):
        chunk[place] = own * stages + stage
        batch[place] = micro_batch
    place = np.arange(2 * total)
    return Schedule(backward, chunk, batch, place, place)


def _interleaved(number: Ints, stages: int, chunks_per_stage: int) -> tuple[Ints, Ints]:
    """Return the chunk and the micro-batch of each forward pass of a worker."""
    if chunks_per_stage == 1:
        return np.zeros_like(number), number
    group, place = np.divmod(number, stages * chunks_per_stage)
    return place // stages, group * stages + place % stages


def zero_bubble_schedule(stage: int, stages: int, micro_batches: int) -> Schedule:
    """Return a worker's passes: 1F1B, with gradients of weights deferred by its stage number in micro-batches.

    So every worker holds at most ``stages`` micro-batches from their forward pass to the gradients of their weights,
    as many as the first one of 1F1B. Forward passes of F seconds, backward ones of B and W for the weights, W no
    longer than F and B, leave a bubble of (stages - 1)·(F + B - W).

    Examples
    --------
    >>> order = zero_bubble_schedule(1, 2, 3)
    >>> ["FBW"[d] + str(i) for d, i in zip(order.direction, order.micro_batch)]
    ['F0', 'B0', 'F1', 'B1', 'W0', 'F2', 'B2', 'W1', 'W2']
    """
    number = np.arange(micro_batches)
    warm_up = warm_up_passes(stage, stages, 1, micro_batches)
    # Round b is a forward pass, the backward pass of micro-batch b and gradients of weights; those left come last.
    rounds = np.concatenate((number - warm_up, number, np.minimum(number + stage, micro_batches)))
    direction = np.repeat((FORWARD, BACKWARD, WEIGHTS), micro_batches)
    batch = np.tile(number, 3)
    order = np.lexsort((batch, direction, rounds))
    place = np.arange(3 * micro_batches)
    return Schedule(direction[order], np.full(3 * micro_batches, stage), batch[order], place, place)


@dataclass(frozen=True, slots=True)
class Order:
    """A schedule.

    Attributes
    ----------
    of_stage : function of stage, stages, chunks per stage and micro-batches
        Returns the passes of the stage's worker.
    check : function of stages, chunks per stage and micro-batches
        Refuses invalid arguments of the schedule.
    splits : bool
        Whether gradients of weights are passes of their own.
    ends : int
        Ends of the pipeline at which micro-batches enter.
    """

    of_stage: Callable[[int, int, int, int], Schedule]
    check: Callable[[int, int, int], None]
    splits: bool = False
    ends: int = 1


def _check_zero_bubble(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    if chunks_per_stage > 1:
        raise InvalidInput(
            f"pipelined step: zero-bubble has one chunk for each of {stages} stages, got {chunks_per_stage * stages}"
        )


def _check_dualpipe(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    check_dualpipe(stages, micro_batches)
    if chunks_per_stage != 2:
        raise InvalidInput(
            f"pipelined step: dualpipe has a chunk for each of {stages} stages and its mirror image, got "
            f"{chunks_per_stage * stages}"
        )


ORDERS: Mapping[str, Order] = {
    "1f1b": Order(stage_schedule, check_schedule),
    "zero-bubble": Order(
        lambda stage, stages, _, micro_batches: zero_bubble_schedule(stage, stages, micro_batches),
        _check_zero_bubble,
        splits=True,
    ),
    "dualpipe": Order(
        lambda stage, stages, _, micro_batches: dualpipe_schedule(stage, stages, micro_batches),
        _check_dualpipe,
        splits=True,
        ends=2,
    ),
}
"""1F1B, interleaved with several chunks; the gradients of weights fill the bubble (ZB-H1 of Qi 2023); from both ends at
once (DeepSeek-V3, section 3.2.1)."""
