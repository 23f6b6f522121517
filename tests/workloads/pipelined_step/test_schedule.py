"""The order in which workers take their passes: the published figures, and what any order must keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step.schedules import stage_schedule


def words(stage: int, stages: int, chunks_per_stage: int, micro_batches: int) -> str:
    """The order in short: F0.1 is the forward pass of micro-batch 1 through the worker's first chunk."""
    order = stage_schedule(stage, stages, chunks_per_stage, micro_batches)
    rows = zip(order.direction, order.chunk // stages, order.micro_batch, strict=True)
    return " ".join(f"{'FB'[back]}{local}.{batch}" for back, local, batch in rows)


def test_the_last_stage_goes_back_and_forth_from_the_start() -> None:
    assert words(3, 4, 1, 3) == "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2"


def test_the_first_of_four_stages_warms_up_with_three_passes_as_in_figure_4_of_the_paper() -> None:
    assert words(0, 4, 1, 8) == (
        "F0.0 F0.1 F0.2 F0.3 B0.0 F0.4 B0.1 F0.5 B0.2 F0.6 B0.3 F0.7 B0.4 B0.5 B0.6 B0.7"
    )


def test_interleaved_workers_take_their_chunks_in_groups_of_as_many_micro_batches_as_stages() -> None:
    assert words(0, 2, 2, 4) == (
        "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3"
    )
    assert words(1, 2, 2, 2) == "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 B0.0 B0.1"


def test_fewer_micro_batches_than_stages_are_all_taken_forward_first() -> None:
    assert words(0, 4, 1, 2) == "F0.0 F0.1 B0.0 B0.1"


def test_interleaving_needs_a_multiple_of_the_stages() -> None:
    with pytest.raises(InvalidInput, match="multiple of the 4 stages, got 6; nearest: 4 or 8"):
        stage_schedule(0, 4, 2, 6)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 4), st.data())
def test_every_pass_is_taken_once_and_back_after_forth(
    stages: int, chunks_per_stage: int, groups: int, data: st.DataObject
) -> None:
    micro_batches = groups * stages if chunks_per_stage > 1 else data.draw(st.integers(1, 12))
    stage = data.draw(st.integers(0, stages - 1))
    order = stage_schedule(stage, stages, chunks_per_stage, micro_batches)
    rows = list(zip(order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist(), strict=True))
    assert len(set(rows)) == len(rows) == 2 * chunks_per_stage * micro_batches
    assert {chunk % stages for _, chunk, _ in rows} == {stage}
    place = {row: at for at, row in enumerate(rows)}
    assert all(place[0, chunk, batch] < place[1, chunk, batch] for _, chunk, batch in rows)
