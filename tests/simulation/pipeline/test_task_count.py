"""A step that would be too many tasks is refused before they are made."""

from dataclasses import replace

import pytest

from tests.simulation.pipeline.steps import equal_chunks, pipeline
from topoopt.base.errors import InvalidInput
from topoopt.simulation import pipeline_task_graph
from topoopt.simulation.pipeline.task_graph import tasks_of_micro_batch
from topoopt.workloads.pipelined_step import Exchange

EXCHANGES = (
    Exchange(0, "forward", "inside", (0,), (0, 2), "allreduce", 8000),
    Exchange(1, "backward", "after", (0, 1), (0, 2, 3), "all-to-all", 9000),
)


@pytest.mark.parametrize(
    ("chunks_per_stage", "schedule"), [(1, "1f1b"), (2, "1f1b"), (1, "zero-bubble"), (2, "dualpipe")]
)
def test_one_more_micro_batch_is_as_many_more_tasks_as_are_counted(
    chunks_per_stage: int, schedule: str
) -> None:
    chunks = equal_chunks(2 * chunks_per_stage, 1.0, 2.0, 500)
    step = pipeline(2, 2, 8, chunks, exchanges=EXCHANGES, schedule=schedule)
    more = replace(step, micro_batches=10)
    grown = len(pipeline_task_graph(more)) - len(pipeline_task_graph(step))
    assert grown == 2 * tasks_of_micro_batch(step)


def test_too_many_micro_batches_name_the_batch_and_what_would_do() -> None:
    step = pipeline(2, 8, 4_000_000, equal_chunks(2, 1.0, 2.0, 500))
    with pytest.raises(InvalidInput, match=r"^global_batch: 4,000,000 micro-batches .* \(0\.026 × as many"):
        pipeline_task_graph(step)
