"""The timeline of a pipeline: every pass of every micro-batch through the stages of one replica, and their sends.

Where the time of an iteration goes: the chain of tasks that each waited for the one before.

The chain ends with the task that is done last. Its parts follow each other without a hole, so their lengths sum to the
iteration time, whatever overlaps with them.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.units import format_time
from topoopt.pages.chart import Bar, TimelineChart
from topoopt.simulation import COLLECTIVE, COMPUTE, PHASES, TRANSFER, SimResult
from topoopt.workloads.pipelined_step import PipelinedStep

WAITING = "waiting"


class PathStep(NamedTuple):
    """A task of the chain, and how long the iteration stood with it. ``task`` is -1 where nothing ran."""

    task: int
    phase: str
    start_s: float
    finish_s: float


MOST_STAGES = 8
"""Most stages that are drawn; beyond, an evenly spaced selection of them."""
MOST_BARS = 3000
"""Most bars; beyond, only those at the beginning and at the end are drawn one by one."""
PASSES = {
    "forward": "forward pass",
    "backward": "backward pass",
    "weights": "gradients of weights",
    "other": "optimizer",
}
SENT = {
    "activation": "activations sent",
    "gradient": "gradients sent",
    "allreduce": "gradients summed, parameters gathered",
}
ALIKE = "passes of further micro-batches"


def pipeline_timeline(step: PipelinedStep, result: SimResult) -> TimelineChart:
    """Return the stages of the replica that ends last, one lane for computing and one for sends."""
    ends_s = [
        max(
            result.finish_s[_computed(step, result, stage, replica)].max(initial=0.0)
            for stage in (0, step.stages - 1)
        )
        for replica in range(step.replicas)
    ]
    replica = int(np.argmax(ends_s))
    chosen = np.unique(np.linspace(0, step.stages - 1, min(step.stages, MOST_STAGES)).round()).astype(int)
    lanes: list[str] = []
    bars: list[Bar] = []
    for stage in chosen.tolist():
        tasks = {
            f"stage {stage}": _computed(step, result, stage, replica),
            "its network": _sent(step, result, stage, replica),
        }
        for lane, numbers in tasks.items():
            if len(numbers):
                bars += _bars(result, numbers, len(lanes))
                lanes.append(lane)
    return TimelineChart(
        "timeline",
        f"One iteration of replica {replica}, micro-batch by micro-batch",
        "",
        tuple(lanes),
        tuple(_thinned(bars)),
        note=_note(step, result, len(chosen)),
    )


def _note(step: PipelinedStep, result: SimResult, drawn: int) -> str:
    notes = ["Drag over a part to enlarge it."]
    if step.ends > 1:
        notes.append(
            "Passes of micro-batches from the other end are in the same lanes; those done as one stand together."
        )
    if drawn < step.stages:
        notes.append(f"{drawn} of {step.stages} stages are drawn.")
    if result.left_out is not None:
        more, more_s = result.left_out.micro_batches, format_time(result.left_out.iteration_s)
        notes.append(
            f"{more:,} further micro-batches of each replica, {more_s}, are left out: they repeat the beat."
        )
    if result.folded is not None:
        notes.append(f"{result.folded.words}.")
    return " ".join(notes)


def _computed(step: PipelinedStep, result: SimResult, stage: int, replica: int) -> Ints:
    graph = result.graph
    server, device = step.part_servers[stage, replica, 0], step.worker_accelerator[stage, replica]
    return np.flatnonzero((graph.kind == COMPUTE) & (graph.server == server) & (graph.accelerator == device))


def _sent(step: PipelinedStep, result: SimResult, stage: int, replica: int) -> Ints:
    """Return the tasks sent by a worker's servers for its stage: activations, gradients, exchanges,
    synchronizations."""
    graph, servers = result.graph, np.unique(step.part_servers[stage, replica])
    backward = graph.phase == PHASES.index("gradient")
    # Gradients are labeled by the chunk that they go to; what belongs to no chunk is of no stage.
    after = [step.neighbor(chunk, 1) for chunk in range(len(step.chunks))]
    next_stage = [-1 if chunk is None else int(step.chunk_stage[chunk]) for chunk in after]
    of_stage = np.append(step.chunk_stage, (-1, -1))[graph.operator] == stage
    before = np.array([*next_stage, -1, -1])[graph.operator] == stage
    transfer = (graph.kind == TRANSFER) & np.isin(graph.src, servers) & (graph.src != graph.dst)
    member = np.zeros(len(graph), bool)
    owner = np.repeat(np.arange(len(graph)), np.diff(graph.member_first))
    member[owner[np.isin(graph.member, servers)]] = True
    sent = (transfer & np.where(backward, before, of_stage)) | (
        (graph.kind == COLLECTIVE) & member & of_stage
    )
    return np.flatnonzero(sent & (graph.phase != PHASES.index("other")))


def _bars(result: SimResult, tasks: Ints, lane: int) -> Iterator[Bar]:
    """Yield non-overlapping bars of some tasks: waiting transfers begin at the end of the previous one."""
    graph, free_s, seen = result.graph, 0.0, Counter[tuple[int, int]]()
    for task in tasks[np.lexsort((result.start_s[tasks], result.finish_s[tasks]))].tolist():
        phase, operator = int(graph.phase[task]), int(graph.operator[task])
        seen[phase, operator] += 1
        start_s, finish_s = max(float(result.start_s[task]), free_s), float(result.finish_s[task])
        if finish_s <= start_s:
            continue
        free_s = finish_s
        name, computes = PHASES[phase], graph.kind[task] == COMPUTE
        number = f", micro-batch {seen[phase, operator]}" if computes and name != "other" else ""
        kind = (PASSES if computes else SENT).get(name, name)
        label = f"{graph.operator_names[operator]} {kind}{number}: {format_time(start_s)} to {format_time(finish_s)}"
        yield Bar(lane, start_s, finish_s, kind, label)


def _thinned(bars: list[Bar]) -> list[Bar]:
    """Return the bars; of too many, those of the middle as one of each lane."""
    if len(bars) <= MOST_BARS:
        return bars
    starts = sorted(bar.start_s for bar in bars)
    first_s, last_s = starts[MOST_BARS // 2], starts[-MOST_BARS // 2]
    middle: dict[int, list[Bar]] = {}
    kept: list[Bar] = []
    for bar in bars:
        (middle.setdefault(bar.lane, []) if first_s <= bar.start_s < last_s else kept).append(bar)
    joined = [
        Bar(
            lane,
            those[0].start_s,
            max(bar.finish_s for bar in those),
            ALIKE,
            f"{len(those):,} bars, not drawn one by one",
        )
        for lane, those in middle.items()
    ]
    return [*kept, *joined]


def critical_path(result: SimResult) -> list[PathStep]:
    """Return the chain that decides when the last task is done, in order of time.

    A task waits for its predecessors, and a computation for the accelerator, too. Communication counts from when
    it is ready, so the time that it waits for links is its own.
    """
    graph = result.graph
    if not len(graph):
        return []
    first, before = _predecessors(result)
    on_device = _previous_on_device(result)
    steps: list[PathStep] = []
    task = int(np.argmax(result.finish_s))
    end_s = float(result.finish_s[task])
    while task >= 0:
        start_s = min(float(result.start_s[task]), end_s)
        steps.append(PathStep(task, PHASES[graph.phase[task]], start_s, end_s))
        candidates = before[first[task] : first[task + 1]].tolist()
        if graph.kind[task] == COMPUTE and on_device[task] >= 0:
            candidates.append(int(on_device[task]))
        task = max(candidates, key=lambda one: (result.finish_s[one], -one), default=-1)
        end_s = min(float(result.finish_s[task]), start_s) if task >= 0 else 0.0
        if start_s > end_s:
            steps.append(PathStep(-1, WAITING, end_s, start_s))
    return steps[::-1]


def time_by_phase(steps: list[PathStep]) -> dict[str, float]:
    """Return the seconds of each phase of a chain, in the order of :data:`topoopt.simulation.PHASES`."""
    seconds = dict.fromkeys((*PHASES, WAITING), 0.0)
    for step in steps:
        seconds[step.phase] += step.finish_s - step.start_s
    return {phase: time_s for phase, time_s in seconds.items() if time_s > 0}


def _predecessors(result: SimResult) -> tuple[Ints, Ints]:
    graph = result.graph
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    order = np.argsort(graph.successor, kind="stable")
    first = np.searchsorted(graph.successor[order], np.arange(len(graph) + 1))
    return first.astype(np.int64), source[order]


def _previous_on_device(result: SimResult) -> Ints:
    """Return the task that had the accelerator before each computation, -1 for none."""
    graph = result.graph
    compute = np.flatnonzero(graph.kind == COMPUTE)
    order = compute[np.lexsort((result.finish_s[compute], result.start_s[compute], graph.device[compute]))]
    previous = np.full(len(graph), -1, np.int64)
    alike = graph.device[order[1:]] == graph.device[order[:-1]]
    previous[order[1:][alike]] = order[:-1][alike]
    return previous
