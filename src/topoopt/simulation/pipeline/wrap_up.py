"""When an iteration ends after its last passes: gradients, optimizer, parameters, each link one after the other."""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.pipeline.link_time import LinkTime
from topoopt.simulation.pipeline.operations import Operations
from topoopt.simulation.pipeline.play import Played
from topoopt.workloads.pipelined_step import PipelinedStep, Synchronization


def wrap_up_s(step: PipelinedStep, known: Operations, played: Sequence[Played]) -> float:
    """Return when the iteration ends.

    Parameters
    ----------
    played : sequence of Played
        Of each replica.
    """
    links = _Links(known.links)
    done_s = np.array([each.stage_end_s for each in played]).T
    ready_s = np.maximum(done_s, np.array([each.drained_s for each in played]).T)
    for turn in _turns(step):
        requests = [
            (max(ready, float(done_s[_workers(step, sync)].max()) if turn else 0.0), index, bucket)
            for index, sync in enumerate(step.synchronizations)
            if sync.turn == turn
            for bucket, ready in enumerate(_ready_s(step, sync, played))
        ]
        ends = _served(links, known.gradients, requests, [one.delay_s for one in step.synchronizations])
        _note(step, ends, done_s)
    ready_s = np.maximum(ready_s, done_s) + step.optimizer_s
    done_s = ready_s.copy()
    for turn in _turns(step):
        requests = [
            (float((done_s if turn else ready_s)[_workers(step, sync)].max()), index, 0)
            for index, sync in enumerate(step.synchronizations)
            if sync.turn == turn and (sync.gather_bytes or sync.gather_delay_s)
        ]
        ends = _served(
            links, known.parameters, requests, [one.gather_delay_s for one in step.synchronizations]
        )
        _note(step, ends, done_s)
    return float(done_s.max())


def _turns(step: PipelinedStep) -> list[int]:
    return sorted({one.turn for one in step.synchronizations})


def _workers(step: PipelinedStep, sync: Synchronization) -> tuple[Ints, ...]:
    return np.ix_(sorted({int(step.chunk_stage[chunk]) for chunk in sync.chunks}), sync.replicas)


def _ready_s(step: PipelinedStep, sync: Synchronization, played: Sequence[Played]) -> list[float]:
    """Return when each bucket of gradients is there on all workers that hold some."""
    buckets = step.gradient_buckets
    workers = [(played[replica], chunk) for replica in sync.replicas for chunk in sync.chunks]
    if not buckets:
        return [max(each.stage_end_s[step.chunk_stage[chunk]] for each, chunk in workers)]
    shares = [(bucket + 1) / buckets for bucket in range(buckets)]
    return [
        max(
            share * each.last_end_s[chunk] + (1 - share) * each.last_begin_s[chunk] for each, chunk in workers
        )
        for share in shares
    ]


def _served(
    links: "_Links", tasks: Sequence[Ints], requests: list[tuple[float, int, int]], delays_s: list[float]
) -> dict[int, float]:
    """Return when each synchronization ends; ``asked`` has the moment, the number and the bucket of each part."""
    parts: dict[int, int] = {}
    for _, index, bucket in requests:
        parts[index] = max(parts.get(index, 0), bucket + 1)
    ends: dict[int, float] = {}
    for ready, index, _ in sorted(requests):
        begin = max(ready, ends.get(index, 0.0)) + delays_s[index] / parts[index]
        ends[index] = links.serve(tasks[index], begin, parts[index])
    return ends


def _note(step: PipelinedStep, ends: dict[int, float], done_s: Floats) -> None:
    for index, end in ends.items():
        rows = _workers(step, step.synchronizations[index])
        done_s[rows] = np.maximum(done_s[rows], end)


class _Links:
    """Links that serve communications one after the other at full bandwidth."""

    def __init__(self, links: LinkTime) -> None:
        self._links = links
        self._free_s = np.zeros(len(links.capacity_bytes_per_s))

    def serve(self, tasks: Ints, begin_s: float, parts: int) -> float:
        """Return when one of ``parts`` equal parts of some tasks ends that is ready at ``begin_s``."""
        busy_s = self._links.busy_s(tasks) / parts
        used = busy_s > 0
        self._free_s[used] = np.maximum(self._free_s[used], begin_s) + busy_s[used]
        return float(self._free_s[used].max(initial=begin_s)) + self._links.fixed_s(tasks)
