"""Few micro-batches tell what many take: the extended iteration is that of the full simulation."""

from typing import Any

import pytest

from tests.simulation.pipeline.steps import equal_chunks, own_links, pipeline
from topoopt.simulation import AtLeast, SimResult, analytic_step, free_time_s, pipeline_task_graph, simulate
from topoopt.simulation.pipeline import closed_form, steady
from topoopt.simulation.pipeline.pass_times import play as real
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization

MB = 1_000_000
UNEVEN = (*(Chunk(1.0 + 0.1 * index, 2.1 - 0.15 * index, 9 * MB) for index in range(7)), Chunk(1.4, 2.9))
HIDDEN = Exchange(1, "backward", "after", (0, 1), (0, 2, 3), "all-to-all", 90 * MB)
SYNC = Synchronization(
    (0, 4), (0, 1), (0, 1), "reduce-scatter", 500 * MB, gather_bytes=100 * MB, overlap=2 / 3
)

STEPS: dict[str, PipelinedStep] = {
    "equal stages": pipeline(4, 2, 160, equal_chunks(4, 1.0, 2.0, 5 * MB)),
    "interleaved": pipeline(4, 2, 160, UNEVEN, synchronizations=(SYNC,)),
    "one stage": pipeline(1, 4, 161, equal_chunks(1, 1.0, 2.0)),
    "hidden exchanges": pipeline(4, 2, 161, equal_chunks(4, 1.0, 2.0, 5 * MB), exchanges=(HIDDEN,)),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_extended_iteration_is_the_simulated_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step, fabric = STEPS[name], own_links(STEPS[name].servers)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    short, full = analytic_step(step, fabric), simulate("analytic", pipeline_task_graph(step), fabric)
    assert isinstance(short, SimResult)
    assert short.left_out is not None
    assert len(short.graph) < 0.3 * len(full.graph)
    for figure in ("iteration_time_s", "compute_time_s", "bubble_s", "link_bytes_max", "bandwidth_tax"):
        assert getattr(short, figure) == pytest.approx(getattr(full, figure), rel=1e-9), figure
    assert short.link_bytes == pytest.approx(full.link_bytes)


def test_hidden_exchanges_that_fall_behind_are_not_taken_for_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their queue grows with every micro-batch, and in the end the optimizer waits for it."""
    slow = Exchange(0, "backward", "after", (0, 1), (0, 1), "allreduce", 33_000 * MB)
    step = pipeline(1, 2, 400, equal_chunks(1, 1.0, 2.0), exchanges=(slow,))
    fabric = own_links(2)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    full = simulate("analytic", pipeline_task_graph(step), fabric)
    short = analytic_step(step, fabric)
    assert full.iteration_time_s > 1.05 * full.compute_time_s
    assert not isinstance(short, AtLeast)
    assert short is None or short.iteration_time_s == pytest.approx(full.iteration_time_s, rel=1e-9)


@pytest.mark.parametrize("name", ["equal stages", "interleaved", "one stage", "hidden exchanges"])
def test_what_is_too_slow_is_broken_off_with_a_time_that_it_takes_at_least(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, fabric = STEPS[name], own_links(STEPS[name].servers)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    whole = analytic_step(step, fabric)
    assert isinstance(whole, SimResult)
    faster = analytic_step(step, fabric, 1.01 * whole.iteration_time_s)
    assert isinstance(faster, SimResult)
    assert faster.iteration_time_s == whole.iteration_time_s
    slower = analytic_step(step, fabric, 0.9 * whole.iteration_time_s)
    assert isinstance(slower, AtLeast)
    assert 0.9 * whole.iteration_time_s <= slower.least_s <= whole.iteration_time_s * (1 + 1e-9)


def test_few_micro_batches_are_all_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    step = pipeline(4, 1, 16, equal_chunks(4, 1.0, 2.0, 5 * MB))
    assert analytic_step(step, own_links(4)) is None


@pytest.mark.parametrize("name", ["equal stages", "interleaved", "one stage"])
def test_free_communication_is_played_for_a_few_rounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few_s = free_time_s(STEPS[name])
    monkeypatch.setattr(closed_form, "ROUNDS_TO_PLAY", 1000)
    assert few_s == pytest.approx(free_time_s(STEPS[name]), rel=1e-12)


def test_sixty_million_micro_batches_take_no_time_to_think_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(step: PipelinedStep, *others: Any) -> Any:
        assert step.micro_batches < 100
        return real(step, *others)

    monkeypatch.setattr(closed_form, "play", play)
    step = pipeline(4, 2, 60_000_000, equal_chunks(4, 1.0, 2.0))
    assert free_time_s(step) == pytest.approx(3.0 * (60_000_000 + 3))
