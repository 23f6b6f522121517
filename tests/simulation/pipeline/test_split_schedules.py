"""Zero-bubble and DualPipe in all simulators: the published bubbles, and the closed form of a step."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.pipeline.steps import own_links
from topoopt.simulation import (
    COMPUTE,
    PHASES,
    SIMULATORS,
    SimResult,
    SimulationOptions,
    analytic_step,
    compute_and_bubble,
    pipeline_task_graph,
    pipelined_time,
    simulate,
)
from topoopt.simulation.pipeline import steady
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization

MB = 1_000_000
EXACT = SimulationOptions(tolerance=0.0)


def pipeline(
    schedule: str, stages: int, batches: int, chunk: Chunk, replicas: int = 1, **others: object
) -> PipelinedStep:
    """A step of equal chunks whose workers have a server each; ``batches`` of a replica in all."""
    ends = 2 if schedule == "dualpipe" else 1
    one_way = (chunk,) * (stages - 1) + (dataclasses.replace(chunk, output_bytes=0),)
    place = np.arange(stages * replicas).reshape(stages, replicas, 1)
    return PipelinedStep(
        stages * replicas,
        batches // ends,
        one_way * ends,
        place,
        schedule=schedule,
        **others,  # type: ignore[arg-type]
    )


def bubble_s(schedule: str, stages: int, chunk: Chunk) -> float:
    """Of the papers: Qi 2023, Table 2, with B as all of a backward pass; DeepSeek-V3, Table 2, with F&B = F + B."""
    forward_s, backward_s, weights_s = chunk.forward_s, chunk.backward_s, chunk.weights_s
    return {
        "1f1b": (stages - 1) * (forward_s + backward_s),
        "zero-bubble": (stages - 1) * (forward_s + backward_s - 2 * weights_s),
        "dualpipe": (stages / 2 - 1) * (forward_s + 2 * backward_s - 3 * weights_s),
    }[schedule]


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("schedule", ["1f1b", "zero-bubble", "dualpipe"])
def test_the_bubble_is_that_of_the_paper_in_all_simulators(simulator: str, schedule: str) -> None:
    chunk = Chunk(1.0, 2.0, weights_s=1.0)
    for stages, batches in ((2, 4), (4, 12), (8, 16), (8, 20)):
        step = pipeline(schedule, stages, batches, chunk)
        result = simulate(simulator, pipeline_task_graph(step), own_links(stages))
        assert result.iteration_time_s == pytest.approx(batches * 3.0 + bubble_s(schedule, stages, chunk))
        assert compute_and_bubble(step)[1] == pytest.approx(bubble_s(schedule, stages, chunk))
        assert result.bubble_s == pytest.approx(bubble_s(schedule, stages, chunk))


@settings(max_examples=40)
@given(
    st.sampled_from([2, 4, 6, 8]), st.integers(0, 5), st.lists(st.floats(0.1, 2.0), min_size=3, max_size=3)
)
def test_zero_bubble_keeps_its_formula_and_dualpipe_is_no_slower_than_its_own(
    stages: int, more: int, seconds: list[float]
) -> None:
    """Of unequal passes as transformers have them: W for weights at most F, and that at most B for inputs.

    DualPipe's formula counts W thrice, also where the gaps that they fill are longer: its code's order is better then.
    """
    weights_s, forward_s, inputs_s = sorted(seconds)
    chunk = Chunk(forward_s, inputs_s + weights_s, weights_s=weights_s)
    batches = 2 * stages + 2 * more
    busy_s = batches * (chunk.forward_s + chunk.backward_s)
    zero, dual = (
        pipelined_time(pipeline(name, stages, batches, chunk), own_links(stages)).iteration_time_s - busy_s
        for name in ("zero-bubble", "dualpipe")
    )
    assert zero == pytest.approx(bubble_s("zero-bubble", stages, chunk), abs=1e-9)
    expected = bubble_s("dualpipe", stages, chunk)
    gap_s = (stages / 2 - 1) * (inputs_s - weights_s)
    assert expected - gap_s - 1e-9 <= dual <= expected + 1e-9


GROUPS = tuple(tuple(range(2 * stage, 2 * stage + 2)) for stage in range(4))


def around(schedule: str, moment: str, direction: str, size: int) -> tuple[Exchange, ...]:
    """Exchanges of two replicas with the passes through each chunk of four stages."""
    chunks = range(8 if schedule == "dualpipe" else 4)
    members = GROUPS + GROUPS[::-1]
    return tuple(
        Exchange(chunk, direction, moment, (0, 1), members[chunk], "all-gather", size, 4, 1e-3)
        for chunk in chunks
    )


def summed(schedule: str, overlap: float = 0.0) -> tuple[Synchronization, ...]:
    """Gradients of the chunks that are alike, after one another where a worker has two of them."""
    both = schedule == "dualpipe"
    pairs = [tuple(sorted(GROUPS[c] + GROUPS[3 - c])) if both else GROUPS[c] for c in range(4)]
    size = "reduce-scatter", 80 * MB, 1e-3, 80 * MB, 1e-3
    return tuple(
        Synchronization((c, 4 + c) if both else (c,), (0, 1), pairs[c], *size, overlap=overlap)
        for c in range(4)
    )


CHUNK = Chunk(0.010, 0.022, 20 * MB, 1e-4, weights_s=0.009)
SCHEDULES = ("zero-bubble", "dualpipe")
CASES = {
    f"{schedule}, {name}": pipeline(schedule, 4, 16, chunk, 2, **others)
    for schedule in SCHEDULES
    for name, chunk, others in (
        ("plain", CHUNK, {}),
        ("blocking", dataclasses.replace(CHUNK, blocking=True), {}),
        ("gradients", CHUNK, {"synchronizations": summed(schedule), "optimizer_s": 0.01}),
        ("buckets", CHUNK, {"synchronizations": summed(schedule, 0.75)}),
        ("inside", CHUNK, {"exchanges": around(schedule, "inside", "backward", 20 * MB)}),
        ("after weights", CHUNK, {"exchanges": around(schedule, "after", "weights", 40 * MB)}),
        ("before", CHUNK, {"exchanges": around(schedule, "before", "forward", 40 * MB)}),
    )
}


@pytest.mark.parametrize("name", CASES)
def test_the_closed_form_agrees_with_the_flow_simulator(name: str) -> None:
    """To 1 %: what workers of two directions send each other shares links, which the closed form does not know."""
    step, fabric = CASES[name], own_links(8)
    flow_s = simulate("flow", pipeline_task_graph(step), fabric, EXACT).iteration_time_s
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(flow_s, rel=1e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_three_simulators_agree(schedule: str) -> None:
    graph = pipeline_task_graph(CASES[f"{schedule}, gradients"])
    times_s = [simulate(name, graph, own_links(8)).iteration_time_s for name in SIMULATORS]
    assert times_s == pytest.approx([times_s[0]] * len(times_s), rel=1e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_micro_batch_has_a_pass_for_the_gradients_of_its_weights(schedule: str) -> None:
    step = CASES[f"{schedule}, plain"]
    graph = pipeline_task_graph(step)
    computing = graph.kind == COMPUTE
    for phase, seconds in (("forward", 0.010), ("backward", 0.013), ("weights", 0.009)):
        chosen = computing & (graph.phase == PHASES.index(phase))
        assert chosen.sum() == 16 * 4 * 2
        assert graph.duration_s[chosen] == pytest.approx(seconds)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_chunks_send_is_in_the_traffic(schedule: str) -> None:
    step = CASES[f"{schedule}, plain"]
    graph = pipeline_task_graph(step)
    moved = np.zeros((8, 8))
    np.add.at(moved, (graph.src, graph.dst), np.where(graph.kind == 1, graph.size_bytes, 0))
    assert (moved == step.traffic.mp_matrix()).all()
    assert moved[0, 2] == moved[2, 0] == 16 * 20 * MB


def test_a_synchronization_of_both_directions_waits_for_both_workers() -> None:
    """The gradients of chunk 0 are on the first and on the last stage, which are done at other times."""
    plain = pipeline("dualpipe", 4, 8, Chunk(1.0, 2.0, weights_s=1.0))
    sync = Synchronization((0, 4), (0,), (0, 3), "allreduce", 800 * MB)
    alone = simulate(
        "analytic", pipeline_task_graph(dataclasses.replace(plain, synchronizations=(sync,))), own_links(4)
    )
    without = simulate("analytic", pipeline_task_graph(plain), own_links(4))
    assert alone.iteration_time_s > without.iteration_time_s + 0.05


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_few_micro_batches_tell_what_many_take(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step, fabric = pipeline(schedule, 4, 320, CHUNK, 2), own_links(8)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    short, full = analytic_step(step, fabric), simulate("analytic", pipeline_task_graph(step), fabric)
    assert isinstance(short, SimResult)
    assert short.left_out is not None
    for figure in ("iteration_time_s", "compute_time_s", "bubble_s", "link_bytes_max"):
        assert getattr(short, figure) == pytest.approx(getattr(full, figure), rel=1e-9), figure
