"""The table of schedules: what each is called, how it goes through a pipeline, and in which order passes are taken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step.dualpipe import check_dualpipe, dualpipe_schedule
from topoopt.workloads.pipelined_step.schedule import Schedule, check_schedule, stage_schedule
from topoopt.workloads.pipelined_step.zero_bubble import zero_bubble_schedule


@dataclass(frozen=True, slots=True)
class Order:
    """A schedule.

    Attributes
    ----------
    of_stage : function of stage, stages, chunks per stage and micro-batches
        Returns the passes of the stage's worker.
    check : function of stages, chunks per stage and micro-batches
        Refuses what the schedule cannot take.
    splits : bool
        Whether gradients of weights are passes of their own.
    ends : int
        From how many ends micro-batches enter the pipeline.
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
