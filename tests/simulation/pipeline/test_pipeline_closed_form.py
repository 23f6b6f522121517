"""The closed form of pipelined steps: formulas for equal stages, and the flow simulator where no link is shared."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.pipeline.steps import BANDWIDTH_BPS, equal_chunks, own_links, pipeline, scheduled_s
from topoopt.base.errors import InvalidInput
from topoopt.collectives import transfer_time_s
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import SimulationOptions, pipeline_task_graph, pipelined_time, simulate
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization

MB = 1_000_000
EXACT = SimulationOptions(tolerance=0.0)


def simulated_s(step: PipelinedStep, fabric: Fabric) -> float:
    return simulate("flow", pipeline_task_graph(step), fabric, EXACT).iteration_time_s


@pytest.mark.parametrize(("stages", "per_stage", "batches"), [(4, 1, 8), (4, 2, 8), (8, 3, 16), (1, 1, 5)])
def test_the_bubble_of_equal_stages_is_that_of_the_paper(stages: int, per_stage: int, batches: int) -> None:
    step = pipeline(stages, 2, batches, equal_chunks(stages * per_stage, 1.0, 2.0))
    time = pipelined_time(step, own_links(step.servers))
    assert time.bubble_s == pytest.approx(3 * (stages - 1))
    assert time.compute_s == pytest.approx(3 * batches * per_stage)
    assert time.iteration_time_s == pytest.approx(3 * (batches * per_stage + stages - 1))


@pytest.mark.parametrize("batches", [4, 8, 12])
def test_four_stages_turn_four_more_micro_batches_in_the_time_of_four_passes_and_a_round_trip(
    batches: int,
) -> None:
    sent_s = transfer_time_s(MB, [BANDWIDTH_BPS], [1e-6])
    fewer, more = (
        pipelined_time(pipeline(4, 1, count, equal_chunks(4, 1.0, 2.0, MB)), own_links(4))
        for count in (batches, batches + 4)
    )
    assert more.iteration_time_s - fewer.iteration_time_s == pytest.approx(4 * 3 + 6 * sent_s)
    assert more.transfer_s - fewer.transfer_s == pytest.approx(6 * sent_s)


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(1, 3), st.integers(1, 3), st.data())
def test_with_free_communication_it_is_a_schedule_played_by_events(
    stages: int, per_stage: int, groups: int, data: st.DataObject
) -> None:
    count = stages * per_stage
    times = st.lists(st.floats(0.1, 2.0), min_size=count, max_size=count)
    forward_s, backward_s = data.draw(times), data.draw(times)
    chunks = tuple(Chunk(f, b) for f, b in zip(forward_s, backward_s, strict=True))
    step = pipeline(stages, 1, groups * stages, chunks)
    expected = scheduled_s(forward_s, backward_s, stages, groups * stages)
    assert pipelined_time(step, own_links(stages)).iteration_time_s == pytest.approx(expected, rel=1e-12)


@settings(max_examples=25)
@given(
    st.sampled_from([(2, 1), (3, 1), (4, 1), (3, 2), (4, 2)]),
    st.integers(1, 3),
    st.integers(0, 80),
    st.data(),
)
def test_on_links_of_their_own_uneven_stages_take_as_long_as_in_the_flow_simulator(
    shape: tuple[int, int], groups: int, megabytes: int, data: st.DataObject
) -> None:
    count = shape[0] * shape[1]
    seconds = st.tuples(st.floats(0.005, 0.02), st.floats(0.01, 0.04))
    times = data.draw(st.lists(seconds, min_size=count, max_size=count))
    chunks = tuple(Chunk(*both, megabytes * MB * (c < count - 1)) for c, both in enumerate(times))
    step = pipeline(shape[0], 2, groups * shape[0], chunks)
    fabric = own_links(step.servers)
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(simulated_s(step, fabric), rel=1e-6)


def group(stage: int) -> tuple[int, ...]:
    """The servers of a stage's two replicas."""
    return 2 * stage, 2 * stage + 1


def chunked(*chunks: int, gather: bool, overlap: float = 0.0) -> tuple[Synchronization, ...]:
    """Gradients of chunks of three stages."""
    kind, size = ("reduce-scatter", 80 * MB) if gather else ("allreduce", 0)
    return tuple(
        Synchronization((c,), (0, 1), group(c % 3), kind, 80 * MB, 1e-3, size, 1e-3, overlap=overlap)
        for c in chunks
    )


def each_pass(moment: str, collective: str, size: int, *directions: str) -> tuple[Exchange, ...]:
    return tuple(
        Exchange(chunk, direction, moment, (0, 1), group(chunk), collective, size, 4, 1e-3)
        for chunk in range(3)
        for direction in directions
    )


PLAIN = pipeline(3, 2, 6, tuple(Chunk(0.01 + 0.003 * s, 0.02, 20 * MB * (s < 2), 1e-4) for s in range(3)))
"""Uneven stages of two replicas; every pair of servers has its own link."""
INTERLEAVED = pipeline(3, 2, 6, equal_chunks(6, 0.01, 0.02, 20 * MB))
CASES = {
    "1F1B": PLAIN,
    "interleaved": INTERLEAVED,
    "interleaved, blocking": dataclasses.replace(
        INTERLEAVED, chunks=tuple(dataclasses.replace(chunk, blocking=True) for chunk in INTERLEAVED.chunks)
    ),
    "ZeRO 0": dataclasses.replace(PLAIN, synchronizations=chunked(0, 1, 2, gather=False), optimizer_s=0.01),
    "ZeRO 1": dataclasses.replace(PLAIN, synchronizations=chunked(0, 1, 2, gather=True), optimizer_s=0.01),
    "ZeRO 1 in buckets": dataclasses.replace(
        PLAIN, synchronizations=chunked(0, 1, 2, gather=True, overlap=0.75)
    ),
    "ZeRO 1 interleaved in buckets": dataclasses.replace(
        INTERLEAVED, synchronizations=chunked(5, 4, 3, 2, 1, 0, gather=True, overlap=0.4)
    ),
    "ZeRO 2": dataclasses.replace(PLAIN, exchanges=each_pass("after", "reduce-scatter", 80 * MB, "backward")),
    "ZeRO 3": dataclasses.replace(
        PLAIN,
        exchanges=(
            *each_pass("before", "all-gather", 160 * MB, "forward", "backward"),
            *each_pass("after", "reduce-scatter", 160 * MB, "backward"),
        ),
    ),
    "ZeRO 3 on slow links": dataclasses.replace(
        PLAIN,
        exchanges=(
            *each_pass("before", "all-gather", 480 * MB, "forward", "backward"),
            *each_pass("after", "reduce-scatter", 480 * MB, "backward"),
        ),
    ),
    "EP": dataclasses.replace(
        PLAIN, exchanges=each_pass("inside", "all-to-all", 60 * MB, "forward", "backward")
    ),
    "TP across servers": PipelinedStep(
        8,
        6,
        tuple(Chunk(0.01, 0.02, 10 * MB * (s < 1)) for s in range(2)),
        np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
        tuple(
            Exchange(s, d, "inside", (r,), (4 * s + 2 * r, 4 * s + 2 * r + 1), "allreduce", 50 * MB, 8, 1e-3)
            for s in range(2)
            for r in range(2)
            for d in ("forward", "backward")
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_agrees_with_the_flow_simulator_where_no_link_is_shared(name: str) -> None:
    step = CASES[name]
    fabric = own_links(step.servers)
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(simulated_s(step, fabric), rel=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_on_an_ideal_switch_sends_meet_for_a_moment_only(name: str) -> None:
    step = CASES[name]
    fabric = build_fabric(
        "ideal-switch", FabricRequest(step.servers, 4, 100e9, pipeline_task_graph(step).groups)
    )
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(simulated_s(step, fabric), rel=2e-2)


def test_on_packets_it_takes_as_long() -> None:
    step = dataclasses.replace(CASES["ZeRO 1"], micro_batches=3)
    fabric = own_links(step.servers)
    options = SimulationOptions()
    packets = simulate("packet", pipeline_task_graph(step), fabric, options).iteration_time_s
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(packets, rel=1e-9)


def test_the_parts_of_the_time_add_up() -> None:
    for step in CASES.values():
        time = pipelined_time(step, own_links(step.servers))
        parts = dataclasses.astuple(time)[1:]
        assert sum(parts) == pytest.approx(time.iteration_time_s)
        assert min(parts) >= -1e-12


def test_replicas_that_are_further_apart_are_slower() -> None:
    step = dataclasses.replace(PLAIN, synchronizations=chunked(0, 1, 2, gather=True))
    ring = build_fabric("torus", FabricRequest(6, 2, BANDWIDTH_BPS))
    far = dataclasses.replace(step, part_servers=np.array([[[0], [1]], [[2], [4]], [[3], [5]]]))
    near = dataclasses.replace(step, part_servers=np.array([[[0], [3]], [[1], [4]], [[2], [5]]]))
    assert pipelined_time(near, ring).transfer_s < pipelined_time(far, ring).transfer_s


def test_circuits_that_change_have_no_closed_form() -> None:
    fabric = build_fabric("ocs-reconfig", FabricRequest(6, 2, BANDWIDTH_BPS))
    with pytest.raises(InvalidInput, match="simulate it"):
        pipelined_time(PLAIN, fabric)
