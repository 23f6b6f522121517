"""The timeline of a pipeline has a bar for every pass of every micro-batch, in a lane of its stage."""

import dataclasses
from collections import Counter
from itertools import pairwise

import pytest

from tests.simulation.pipeline.steps import equal_chunks, own_links, pipeline
from topoopt.pages.chart import Bar, TimelineChart
from topoopt.pages.timelines import ALIKE, MOST_BARS, MOST_STAGES, pipeline_timeline
from topoopt.simulation import SimResult, pipeline_task_graph, simulate
from topoopt.workloads.pipelined_step import Chunk, PipelinedStep, Synchronization

SYNC = Synchronization((0,), (0, 1), (0, 1), "allreduce", 5_000_000)


def simulated(step: PipelinedStep) -> SimResult:
    return simulate("analytic", pipeline_task_graph(step), own_links(step.servers))


def drawn(step: PipelinedStep) -> TimelineChart:
    return pipeline_timeline(step, simulated(step))


def split(schedule: str, output_bytes: int) -> PipelinedStep:
    """Eight micro-batches through four stages."""
    ends = 2 if schedule == "dualpipe" else 1
    chunk = Chunk(1.0, 2.0, output_bytes, weights_s=0.8)
    way = (*(chunk,) * 3, dataclasses.replace(chunk, output_bytes=0))
    return pipeline(4, 1, 8 // ends, way * ends, schedule=schedule, optimizer_s=0.5)


def of_lane(chart: TimelineChart, name: str) -> list[Bar]:
    lane = chart.lanes.index(name)
    return sorted((bar for bar in chart.bars if bar.lane == lane), key=lambda bar: bar.start_s)


def test_every_pass_is_a_bar_and_lasts_as_long_as_it_takes() -> None:
    step = pipeline(4, 2, 6, equal_chunks(4, 1.0, 2.0, 500), synchronizations=(SYNC,), optimizer_s=0.5)
    chart = drawn(step)
    for stage in range(4):
        bars = of_lane(chart, f"stage {stage}")
        assert Counter(bar.kind for bar in bars) == {"forward pass": 6, "backward pass": 6, "optimizer": 1}
        lasting = {bar.kind: bar.finish_s - bar.start_s for bar in bars}
        assert lasting == pytest.approx({"forward pass": 1.0, "backward pass": 2.0, "optimizer": 0.5})
        assert "micro-batch 6" in max(bars[:-1], key=lambda bar: bar.finish_s).label


@pytest.mark.parametrize("schedule", ["zero-bubble", "dualpipe"])
def test_gradients_of_weights_have_bars_of_their_own_kind(schedule: str) -> None:
    step = split(schedule, 500)
    chart = drawn(step)
    for stage in range(4):
        bars = of_lane(chart, f"stage {stage}")
        passes = {"forward pass": 8, "backward pass": 8, "gradients of weights": 8}
        assert Counter(bar.kind for bar in bars) == {**passes, "optimizer": 1}
        lasting = {bar.kind: bar.finish_s - bar.start_s for bar in bars}
        assert lasting["gradients of weights"] == pytest.approx(0.8)
    assert ("from the other end" in chart.note) == (schedule == "dualpipe")


def test_workers_of_dualpipe_send_both_ways() -> None:
    """The two in the middle activations of 8 micro-batches and gradients of 8, the outer ones of 4 each."""
    chart = drawn(split("dualpipe", 50_000_000))
    sent = {lane: Counter(bar.kind for bar in chart.bars if bar.lane == lane) for lane in (1, 3, 5, 7)}
    inner, outer = ({"activations sent": count, "gradients sent": count} for count in (8, 4))
    assert sent == {1: outer, 3: inner, 5: inner, 7: outer}


@pytest.mark.parametrize("chunks", [4, 8])
def test_no_two_bars_of_a_lane_overlap(chunks: int) -> None:
    chart = drawn(pipeline(4, 2, 8, equal_chunks(chunks, 1.0, 2.0, 50_000_000)))
    for lane in range(chart.height):
        bars = sorted((bar.start_s, bar.finish_s) for bar in chart.bars if bar.lane == lane)
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(bars))


def test_a_stage_sends_what_its_passes_make() -> None:
    chart = drawn(pipeline(2, 1, 5, equal_chunks(2, 1.0, 2.0, 50_000_000)))
    kinds = [Counter(bar.kind for bar in chart.bars if bar.lane == lane) for lane in (1, 3)]
    assert chart.lanes == ("stage 0", "its network", "stage 1", "its network")
    assert kinds == [{"activations sent": 5}, {"gradients sent": 5}]


def test_many_stages_and_many_micro_batches_stay_legible() -> None:
    step = pipeline(16, 1, 400, equal_chunks(16, 1.0, 2.0, 500))
    chart = drawn(step)
    assert len([lane for lane in chart.lanes if lane.startswith("stage")]) == MOST_STAGES
    assert {"stage 0", "stage 15"} <= set(chart.lanes)
    assert len(chart.bars) <= MOST_BARS + chart.height
    assert [bar for bar in chart.bars if bar.kind == ALIKE]
    assert chart.span_s[1] == pytest.approx(simulated(step).iteration_time_s)
