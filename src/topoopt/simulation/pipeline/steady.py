"""An iteration of many micro-batches, simulated with few: once a pipeline is in step, each round takes as long.

A filled pipeline has no memory beyond the micro-batches in flight, and analytic links are deterministic: it reaches a
periodic state. So the step is simulated with more and more micro-batches, a round at a time, until the iteration has
grown by equal times twice (to rounding) and nothing late in it grows faster; then the rounds that are left are added.
Steps of 128 to 512 accelerators that were simulated in full as well agree to 12 digits
(``tests/simulation/pipeline/test_steady.py`` has some of them).
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.routing import Fabric
from topoopt.schema.files import noun_from
from topoopt.simulation.analytic.simulator import analytic
from topoopt.simulation.pipeline.folding import fold
from topoopt.simulation.pipeline.task_graph import pipeline_task_graph, tasks_of_micro_batch
from topoopt.simulation.result import LeftOut, SimResult
from topoopt.simulation.task_graph import COMPUTE, MOST_TASKS, PHASES, TaskGraph
from topoopt.workloads.pipelined_step import PipelinedStep

MANY_FLOWS = 150_000
"""Steps of fewer tasks, and flows of all-to-alls, are simulated with all their micro-batches."""

IN_STEP = 1e-9
"""Tolerance, as a fraction of a round, when comparing how far times move: rounding."""

FORWARD_PHASES = PHASES.index("forward"), PHASES.index("activation")

MOST_LENGTHS = 4
"""Numbers of micro-batches that are tried at most; the longest takes the most memory."""

LARGEST = 1_500_000
"""Tasks at once, about a gigabyte, beyond which no fourth number is tried."""

MANY_TASKS = 500_000
"""Tasks of three rounds beyond which rounds are a quarter as long, where chunks allow that: such pipelines fall into a
beat of one micro-batch, and those whose links are shared unevenly into none for long."""

WORTH = 0.75
"""The rounds simulated have at most this share of all micro-batches together."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Lower bounds on a step whose simulation was stopped since it is too slow in any case."""

    least_s: float


@dataclass(frozen=True, eq=False, slots=True)
class _Rounds:
    """The figures of some rounds that are compared with those of a round more; see :class:`SimResult`."""

    graph: TaskGraph
    iteration_time_s: float
    compute_time_s: float
    busy_s: float
    late_ends_s: Floats
    link_bytes: Floats
    demanded_bytes: float
    bandwidth_tax: float
    hop_bytes: Floats


def analytic_step(
    step: PipelinedStep, fabric: Fabric, to_beat_s: float = np.inf
) -> SimResult | AtLeast | None:
    """Return the result of the analytic simulator on a step of many tasks, from fewer of its micro-batches.

    One of several replicas that do the same is simulated (``simulation/pipeline/folding.py``).
    None where the step is small, or is not soon in step: then all micro-batches have to be simulated. Of a step that
    is too large for that the last rounds that were tried count; ``left_out.drift`` is their difference. Where it
    shows before that the step does not take less than ``to_beat_s``, a lower bound is returned.

    Raises
    ------
    NoRoute, InvalidInput
        As ``analytic``.
    """
    if analytic_flows(step) <= MANY_FLOWS or fabric.reconfiguration is not None:
        return None
    least = (_lengths(step) or [step.micro_batches])[:3][-1]  # micro-batches at a time
    few = fold(step, fabric, exactly=tasks_of_micro_batch(step) * least <= MOST_TASKS)
    if few is None:
        return _in_rounds(step, fabric, to_beat_s, partial(analytic, fabric=fabric))
    run = partial(few.simulated, fabric=fabric)
    result = None
    if analytic_flows(few.step) > MANY_FLOWS:
        result = _in_rounds(few.step, fabric, to_beat_s, run)
    if result is None:
        result = run(pipeline_task_graph(few.step))
    return result if isinstance(result, AtLeast) else few.of_all(result, fabric)


def _in_rounds(
    step: PipelinedStep, fabric: Fabric, to_beat_s: float, run: Callable[[TaskGraph], SimResult]
) -> SimResult | AtLeast | None:
    """Return the same of a step whose replicas are all simulated, by a function."""
    lengths = _lengths(step)
    a_round = lengths[1] - lengths[0] if lengths else 0
    rounds: list[_Rounds] = []
    result: SimResult | None = None
    for length in lengths:
        result = None  # before the next and longer one: times of all its tasks are much memory
        result = run(_graph(step, length))
        # the last ends of what each device does, and of all that does not go with forward passes, by chunk
        graph = result.graph
        phases, labels = len(PHASES), len(graph.operator_names) + 1
        late = (graph.phase != FORWARD_PHASES[0]) & (graph.phase != FORWARD_PHASES[1])
        kind = graph.kind[late].astype(np.int64)
        key = (kind * phases + graph.phase[late]) * labels + graph.operator[late] + 1
        ends_s = np.full(3 * phases * labels, -1.0)
        np.maximum.at(ends_s, key, result.finish_s[late])
        computing = graph.kind == COMPUTE
        devices_s = np.full(graph.devices, -1.0)
        np.maximum.at(devices_s, graph.device[computing], result.finish_s[computing])
        late_ends_s = np.concatenate((ends_s[ends_s >= 0], devices_s[devices_s >= 0]))
        rounds.append(noun_from(_Rounds, result, late_ends_s=late_ends_s))
        if len(rounds) > 2 and _drift(rounds[-3:]) <= IN_STEP:
            break
        least_s = _least_s(step, fabric, length, a_round, rounds[-2:])
        if least_s >= to_beat_s:
            return AtLeast(least_s)
    else:
        if result is None or tasks_of_micro_batch(step) * step.micro_batches <= MOST_TASKS:
            return None
    return _extended(result, rounds[-3:], a_round, step.micro_batches - length, step.ends)


def analytic_flows(step: PipelinedStep) -> int:
    """Return the work of the analytic simulator for all micro-batches: tasks, and pairs of all-to-alls."""
    pairs = (len(one.members) ** 2 for one in step.exchanges if one.collective == "all-to-all")
    return (tasks_of_micro_batch(step) + sum(pairs)) * step.micro_batches


def simulated_flows(step: PipelinedStep) -> int:
    """Return the part of these flows to simulate where the pipeline soon reaches a steady state."""
    tried = sum(_lengths(step)[:3]) or step.micro_batches
    return analytic_flows(step) * tried // step.micro_batches


def _lengths(step: PipelinedStep) -> list[int]:
    """Return numbers of micro-batches, a round apart, that are whole rounds below those of the step.

    None if three of them would not save work.
    """
    each, most = tasks_of_micro_batch(step), WORTH * step.micro_batches
    least = a_round = max(step.stages, 2)
    if (
        step.chunks_per_stage == step.ends and 3 * each * least > MANY_TASKS
    ):  # where shorter rounds need not be whole ones
        a_round = max(least // 4, 2)
    first = least + (step.micro_batches - least) % a_round
    lengths = [first + a_round * rounds for rounds in range(MOST_LENGTHS)]
    kept: list[int] = []
    for length in lengths:
        if sum(kept) + length > most or (len(kept) > 2 and each * length > LARGEST):
            break
        kept.append(length)
    return kept if len(kept) > 2 else []


def _least_s(
    step: PipelinedStep, fabric: Fabric, length: int, a_round: int, results: Sequence[_Rounds]
) -> float:
    """Return a lower bound on a step, whose first ``length`` micro-batches take the time of the last result.

    Every further one keeps the busiest worker computing, and the busiest link sending as in the round before.
    """
    chunks = [step.chunks_on(stage) for stage in range(step.stages)]
    each_s = max(sum(chunk.forward_s + chunk.backward_s for chunk in of_stage) for of_stage in chunks)
    if len(results) > 1:
        before, last = results
        sent = (last.link_bytes - before.link_bytes) / a_round
        each_s = max(each_s, float((sent * 8 / fabric.topology.bandwidth_bps).max(initial=0.0)))
    return results[-1].iteration_time_s + (step.micro_batches - length) * each_s


def _drift(results: Sequence[_Rounds]) -> float:
    """Return the relative difference between the last two rounds, or the drift of anything late in them."""
    times_s = np.array([(result.iteration_time_s, result.compute_time_s) for result in results])
    grown_s = np.diff(times_s, axis=0)
    beat_s = grown_s[1, 0]
    faster = results[-1].late_ends_s - results[-2].late_ends_s - beat_s
    return float(max(np.abs(grown_s[1] - grown_s[0]).max(), faster.max()) / beat_s)


def _extended(
    result: SimResult, results: Sequence[_Rounds], a_round: int, missing: int, ends: int
) -> SimResult:
    """Return the last of three results, one round apart, extended by ``missing`` micro-batches.

    They are ``missing`` from each of the ``ends`` at which they enter the pipeline.

    Where the last two rounds differ the longer one counts, and never less than computing takes.
    """
    (first, before, last), rounds = results, missing / a_round
    compute_s = last.compute_time_s - before.compute_time_s
    drift = _drift(results)
    iteration_s = last.iteration_time_s - before.iteration_time_s
    if drift > IN_STEP:
        iteration_s = max(iteration_s, before.iteration_time_s - first.iteration_time_s, compute_s)

    def more(one: Floats, other: Floats) -> Floats:
        return one + rounds * (one - other)

    left = LeftOut(
        missing * ends,
        rounds,
        before.graph,
        rounds * iteration_s,
        rounds * compute_s,
        rounds * (last.busy_s - before.busy_s),
        drift,
    )
    sent = [each.bandwidth_tax * each.demanded_bytes for each in (last, before)]
    demanded = last.demanded_bytes + rounds * (last.demanded_bytes - before.demanded_bytes)
    return replace(
        result,
        link_bytes=more(last.link_bytes, before.link_bytes),
        demanded_bytes=demanded,
        bandwidth_tax=(sent[0] + rounds * (sent[0] - sent[1])) / demanded if demanded else 1.0,
        hop_bytes=more(last.hop_bytes, before.hop_bytes),
        left_out=left,
    )


_KEPT: dict[int, TaskGraph] = {}
_STEP: list[weakref.ref[PipelinedStep]] = []


def _graph(step: PipelinedStep, length: int) -> TaskGraph:
    """Return the graph of some micro-batches; those of the last step are kept, for it is simulated on every fabric."""
    if not _STEP or _STEP[0]() is not step:
        _KEPT.clear()
        _STEP[:] = [weakref.ref(step)]
    if length not in _KEPT:
        _KEPT[length] = pipeline_task_graph(replace(step, micro_batches=length))
    return _KEPT[length]
