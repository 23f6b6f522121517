"""Pipelined steps as task graphs, against a schedule played by events and against formulas."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.pipeline.steps import BANDWIDTH_BPS, equal_chunks, own_links, pipeline, scheduled_s
from topoopt.base.errors import InvalidInput
from topoopt.collectives import transfer_time_s
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    SIMULATORS,
    TRANSFER,
    compute_and_bubble,
    pipeline_task_graph,
    simulate,
)
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization

MB = 10_000_000
SECONDS = st.floats(0.1, 2.0)


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[list[float], list[float], int, int]:
    stages, chunks_per_stage = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    batches = draw(st.integers(1, 8))
    batches = -(-batches // stages) * stages if chunks_per_stage > 1 else batches
    count = stages * chunks_per_stage
    times = st.lists(SECONDS, min_size=count, max_size=count)
    return draw(times), draw(times), stages, batches


@settings(max_examples=60)
@given(pipelines())
def test_with_free_communication_the_makespan_is_that_of_a_schedule_played_by_events(
    drawn: tuple[list[float], list[float], int, int],
) -> None:
    forward_s, backward_s, stages, batches = drawn
    chunks = tuple(Chunk(f, b) for f, b in zip(forward_s, backward_s, strict=True))
    graph = pipeline_task_graph(pipeline(stages, 1, batches, chunks))
    expected = scheduled_s(forward_s, backward_s, stages, batches)
    assert simulate("flow", graph, own_links(stages)).iteration_time_s == pytest.approx(expected, rel=1e-12)


def simulated_s(step: PipelinedStep, **options: bool) -> float:
    graph = pipeline_task_graph(step, **options)
    return simulate("flow", graph, own_links(step.servers)).iteration_time_s


@pytest.mark.parametrize(("stages", "per_stage", "batches"), [(4, 1, 8), (4, 2, 8), (4, 3, 4), (2, 4, 6)])
def test_the_bubble_of_equal_stages_is_that_of_the_paper(stages: int, per_stage: int, batches: int) -> None:
    chunks = equal_chunks(stages * per_stage, 1 / per_stage, 2 / per_stage)
    expected = 3 * (batches + (stages - 1) / per_stage)
    assert simulated_s(pipeline(stages, 1, batches, chunks)) == pytest.approx(expected)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("iterations", [1, 3])
def test_a_result_tells_the_bubble_from_computing(simulator: str, iterations: int) -> None:
    """The optimizer's time is computing; what is sent is not free, and is no part of either."""
    step = pipeline(4, 2, 8, equal_chunks(4, 1.0, 2.0, MB), optimizer_s=0.5)
    result = simulate(simulator, pipeline_task_graph(step, iterations), own_links(step.servers))
    assert result.bubble_s == pytest.approx(compute_and_bubble(step)[1]) == 9.0
    assert result.compute_time_s == pytest.approx(9.0 + 8 * 3.0 + 0.5)
    assert result.iteration_time_s > result.compute_time_s


def test_a_micro_batch_alone_waits_for_every_transfer() -> None:
    sent_s = transfer_time_s(MB, [BANDWIDTH_BPS], [1e-6])
    step = pipeline(3, 2, 1, equal_chunks(3, 1.0, 2.0, MB))
    assert simulated_s(step) == pytest.approx(9 + 4 * sent_s)


def test_a_transfer_begins_after_its_delay() -> None:
    late = pipeline(2, 1, 1, (Chunk(1.0, 2.0, MB, 0.5), Chunk(1.0, 2.0)))
    soon = pipeline(2, 1, 1, (Chunk(1.0, 2.0, MB), Chunk(1.0, 2.0)))
    assert simulated_s(late) - simulated_s(soon) == pytest.approx(2 * 0.5)


def test_a_blocking_worker_waits_for_all_that_it_sends() -> None:
    sent_s = transfer_time_s(MB, [BANDWIDTH_BPS], [1e-6])
    chunks = (Chunk(1.0, 2.0, MB, blocking=True), Chunk(1.0, 2.0, MB, blocking=True), Chunk(1.0, 2.0))
    fewer, more = (simulated_s(pipeline(3, 1, batches, chunks)) for batches in (6, 7))
    assert more - fewer == pytest.approx(3.0 + 2 * sent_s)


def test_stages_of_one_server_send_nothing_and_are_devices_of_their_own() -> None:
    place = np.array([[[0]], [[0]], [[1]]])
    step = PipelinedStep(2, 4, equal_chunks(3, 1.0, 2.0, MB), place)
    graph = pipeline_task_graph(step)
    transfers = graph.kind == TRANSFER
    assert set(zip(graph.src[transfers].tolist(), graph.dst[transfers].tolist(), strict=True)) == {
        (0, 1),
        (1, 0),
    }
    assert len(set(graph.device[graph.kind == COMPUTE].tolist())) == 3


def test_the_bytes_of_the_graph_are_those_of_the_traffic() -> None:
    exchange = Exchange(
        0, "forward", "inside", (0, 1), (0, 1), "all-to-all", 0, 2, pair_bytes=((0, 7 * MB), (3 * MB, 0))
    )
    step = pipeline(2, 2, 4, equal_chunks(4, 1.0, 2.0, MB), exchanges=(exchange,))
    graph, traffic = pipeline_task_graph(step), step.traffic
    moved = np.zeros((4, 4))
    np.add.at(moved, (graph.src, graph.dst), np.where(graph.kind == TRANSFER, graph.size_bytes, 0))
    assert (moved == traffic.mp_matrix()).all()


def test_all_of_a_group_wait_for_an_exchange_inside_their_passes() -> None:
    exchange = Exchange(1, "backward", "inside", (0, 1), (2, 3), "all-to-all", 2 * MB, 4, delay_s=0.25)
    plain = pipeline(2, 2, 1, equal_chunks(2, 1.0, 2.0))
    step = dataclasses.replace(plain, exchanges=(exchange,))
    added_s = 0.25 + transfer_time_s(MB, [BANDWIDTH_BPS], [1e-6])
    assert simulated_s(step) == pytest.approx(simulated_s(plain) + added_s)


def test_exchanges_one_by_one_take_as_long_but_for_the_start_of_each() -> None:
    exchange = Exchange(0, "forward", "inside", (0, 1), (0, 1), "allreduce", 400 * MB, 4)
    step = pipeline(2, 2, 6, equal_chunks(2, 1.0, 2.0), exchanges=(exchange,))
    at_once, one_by_one = simulated_s(step), simulated_s(step, one_by_one=True)
    assert at_once < one_by_one < at_once * 1.001
    assert (pipeline_task_graph(step, one_by_one=True).kind == COLLECTIVE).sum() == 6 * 4


def test_exchanges_of_one_turn_take_place_at_once_and_of_different_turns_one_after_the_other() -> None:
    place = np.array([[[0, 1, 2, 3]]])

    def with_turns(*turns: int) -> float:
        groups = zip(((0, 1), (2, 3)), turns, strict=True)
        exchanges = tuple(
            Exchange(0, "forward", "inside", (0,), members, "allreduce", 100 * MB, turn=turn)
            for members, turn in groups
        )
        return simulated_s(PipelinedStep(4, 1, (Chunk(1.0, 2.0),), place, exchanges))

    assert with_turns(0, 1) - 3 == pytest.approx(2 * (with_turns(0, 0) - 3))


def summed(size: int = 100 * MB, **others: object) -> Synchronization:
    return Synchronization((0,), (0, 1), (0, 1), "allreduce", size, **others)  # type: ignore[arg-type]


def test_gradients_wait_for_the_last_pass_unless_they_leave_in_buckets() -> None:
    step = pipeline(1, 2, 3, (Chunk(1.0, 2.0),), synchronizations=(summed(),))
    waits_s = simulated_s(step) - 9
    in_four = simulated_s(dataclasses.replace(step, synchronizations=(summed(overlap=0.75),))) - 9
    assert waits_s > 0.1
    assert in_four == pytest.approx(waits_s / 4, rel=1e-3)


def test_the_optimizer_waits_for_gradients_and_gathers_wait_for_the_optimizer() -> None:
    plain = pipeline(1, 2, 1, (Chunk(1.0, 2.0),), optimizer_s=0.5)
    assert simulated_s(plain) == pytest.approx(3.5)
    whole = simulated_s(dataclasses.replace(plain, synchronizations=(summed(),)))
    sharded = Synchronization((0,), (0, 1), (0, 1), "reduce-scatter", 100 * MB, gather_bytes=100 * MB)
    assert simulated_s(dataclasses.replace(plain, synchronizations=(sharded,))) == pytest.approx(
        whole, rel=1e-4
    )


def test_a_tied_embedding_is_summed_over_both_ends_after_the_replicas() -> None:
    tied = Synchronization((0, 1), (0,), (0, 2), "allreduce", 100 * MB, turn=1)
    step = pipeline(2, 2, 2, equal_chunks(2, 1.0, 2.0), synchronizations=(summed(),))
    both = dataclasses.replace(step, synchronizations=(summed(), tied))
    assert simulated_s(both) - simulated_s(step) == pytest.approx(simulated_s(step) - 9, rel=1e-3)


def test_parameters_are_fetched_while_the_pass_before_runs() -> None:
    fetches = tuple(
        Exchange(0, direction, "before", (0, 1), (0, 1), "all-gather", 100 * MB)
        for direction in ("forward", "backward")
    )
    plain = pipeline(1, 2, 3, (Chunk(1.0, 2.0),))
    first_s = simulated_s(dataclasses.replace(plain, exchanges=fetches)) - 9
    alone = Exchange(0, "forward", "inside", (0, 1), (0, 1), "all-gather", 100 * MB)
    every_s = simulated_s(dataclasses.replace(plain, exchanges=(alone,))) - 9
    assert first_s == pytest.approx(every_s / 3, rel=1e-6)


def test_only_the_optimizer_waits_for_what_comes_after_a_pass() -> None:
    after = Exchange(0, "backward", "after", (0, 1), (0, 1), "reduce-scatter", 100 * MB)
    plain = pipeline(1, 2, 3, (Chunk(1.0, 2.0),), optimizer_s=1.0)
    inside = dataclasses.replace(after, moment="inside")
    exposed_s = simulated_s(dataclasses.replace(plain, exchanges=(after,))) - 10
    assert exposed_s == pytest.approx((simulated_s(dataclasses.replace(plain, exchanges=(inside,))) - 10) / 3)


def test_the_next_iteration_begins_when_parameters_are_there() -> None:
    sharded = Synchronization((0,), (0, 1), (0, 1), "reduce-scatter", 100 * MB, gather_bytes=100 * MB)
    step = pipeline(2, 2, 4, equal_chunks(2, 1.0, 2.0, MB), synchronizations=(sharded,), optimizer_s=0.5)
    one, three = (pipeline_task_graph(step, iterations) for iterations in (1, 3))
    fabric = own_links(4)
    cold, steady = (simulate("flow", graph, fabric).iteration_time_s for graph in (one, three))
    assert steady == pytest.approx(cold, rel=1e-3)
    assert (len(three), three.iterations) == (3 * len(one), 3)
    with pytest.raises(InvalidInput, match="iterations must be >= 1"):
        pipeline_task_graph(step, 0)


def test_the_graph_of_175_billion_parameters_on_1024_accelerators_is_built_in_a_second() -> None:
    step = pipeline(16, 8, 192, equal_chunks(16, 0.02, 0.04, MB))
    assert len(pipeline_task_graph(step)) == 16 * 8 * 192 * 2 + 15 * 8 * 192 * 2 + 16 * 8
