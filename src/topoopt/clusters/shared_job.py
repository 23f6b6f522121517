"""A job on a shared fabric, as the kernel runs it: few steps, and the load of each on the links.

Fewer tasks for the same iteration: servers that do the same at the same time are one.

In a data-parallel job sixteen servers run the same layers side by side, and their transfers begin together. Such
tasks form a *step*. Steps are the coarsest partition of the tasks in which all tasks of a step do the same, wait
for the same steps, are waited for by the same steps, and have equal positions in the queues of their devices
(color refinement). As long as transfers of a step end together, with the slowest, the result is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints, Words
from topoopt.clusters.settings import SharingOptions
from topoopt.routing import Fabric
from topoopt.simulation import Flows, SimulationOptions, TaskGraph, compute_finish_s, make_flows


@dataclass(frozen=True, eq=False)
class Lockstep:
    """The steps of an iteration, in the order of their first tasks.

    Attributes
    ----------
    step : int64 array, shape (tasks,)
        Step of each task of the graph.
    first_task : int64 array, shape (steps,)
        The task that represents each step.
    device : int64 array, shape (steps,)
        Devices of equal load are one, numbered from 0; -1 for communication.
    duration_s : float64 array, shape (steps,)
    before, after : int64 arrays, shape (edges,)
        Step ``after[i]`` waits for ``before[i]``; every pair once, sorted.
    free_finish_s : float64 array, shape (steps,)
        End of each step if communication is free.
    """

    step: Ints
    first_task: Ints
    device: Ints
    duration_s: Floats
    before: Ints
    after: Ints
    free_finish_s: Floats

    def __len__(self) -> int:
        return len(self.first_task)

    @cached_property
    def computes_without_waiting(self) -> bool:
        """Whether no computation waits for communication, directly or not."""
        waits = self.device < 0
        while True:
            reached = waits.copy()
            reached[self.after[waits[self.before]]] = True
            if (reached == waits).all():
                return not reached[self.device >= 0].any()
            waits = reached


Usage = tuple[Ints, Floats]
"""Links, and the share of each used per byte/s of a step, in s/byte."""


@dataclass(frozen=True, slots=True)
class MostUse:
    """Highest share of links that a job alone can use.

    Attributes
    ----------
    link, part : arrays, shape (links,)
        Links of the job, and the part of each that it can take; above 1 it is no bound.
    gauge : int
        A link that all usages take, to which parts relate; -1 if there is none.
    """

    link: Ints
    part: Floats
    gauge: int


@dataclass(frozen=True, slots=True)
class Step:
    """Simultaneous work in an iteration: a computation, a wait, or bytes sent on links.

    Attributes
    ----------
    device : int
        Device at which a computation queues, -1 for everything else.
    lead_s : float
        Length of a computation or wait; for a send, the time until its first byte.
    tail_s : float
        Time between the last byte and the end.
    size_bytes : float
        Bytes for which a link of coefficient 1 is held; 0 where nothing is sent.
    usage : int
        Index into the usages of the job, -1 where nothing is sent.
    steady : bool
        False for the sends of a served model's requests.
    """

    device: int
    lead_s: float
    tail_s: float = 0.0
    size_bytes: float = 0.0
    usage: int = -1
    steady: bool = True


@dataclass(frozen=True, eq=False)
class SharedJob:
    """One job with its connections on a fabric.

    Attributes
    ----------
    steps : tuple of Step
    waits_for : tuple of tuples of int
        Steps that each step waits for.
    usages : tuple of Usage
        Sets of links; sends with the same set use the same connections.
    """

    steps: tuple[Step, ...]
    waits_for: tuple[tuple[int, ...], ...]
    usages: tuple[Usage, ...]

    @property
    def devices(self) -> int:
        """Number of queues for computation."""
        return max(step.device for step in self.steps) + 1

    @cached_property
    def most(self) -> MostUse:
        """Upper bound on the job's share of each link.

        A usage alone cannot fill its own busiest link more than once, so the sum over usages of their parts relative
        to it is a bound. If all usages take one link, then the largest part relative to this one is a bound too.
        """
        if not self.usages:
            return MostUse(np.zeros(0, np.int64), np.zeros(0), -1)
        link, place = np.unique(np.concatenate([usage[0] for usage in self.usages]), return_inverse=True)
        table = np.zeros((len(self.usages), len(link)))
        row = np.repeat(np.arange(len(self.usages)), [len(usage[0]) for usage in self.usages])
        table[row, place] = np.concatenate([usage[1] for usage in self.usages])
        table /= table.max(axis=1, keepdims=True)
        part = table.sum(axis=0)
        by_all = np.flatnonzero((table > 0).all(axis=0))
        if len(self.usages) < 2 or not len(by_all):
            return MostUse(link, part, -1)
        gauge = int(by_all[np.argmax(part[by_all])])
        relative = (table / table[:, [gauge]]).max(axis=0)
        return MostUse(link, np.minimum(part, relative), int(link[gauge]))


def shared_job(
    graph: TaskGraph, same: Lockstep, fabric: Fabric, options: SharingOptions, served: bool = False
) -> SharedJob:
    """Return a job that has its place and its connections.

    All transfers of a step go at the pace of the slowest, each in proportion to its bytes: the step ends when the
    last of them would. If no computation waits for communication, all are timers.

    Parameters
    ----------
    graph : TaskGraph
        An iteration, on servers of the fabric.
    fabric : Fabric
        Fabric with the connections of the job, see :func:`topoopt.clusters.shared_fabric.connect`.
    options : SharingOptions
        With connections of groups, small steps go with a large one that waits for the same, on the same connections,
        and leads to the same: with fewer steps that carry the same bytes.
    served : bool
        Whether tasks of an operator are sends of requests, which are recorded separately, and never merged.
    """
    by_group = options.connections == "group"
    usages: dict[tuple[bytes, bytes], int] = {}
    flows = make_flows(graph, fabric, SimulationOptions(options.ring_model))
    of_request = (graph.operator[same.first_task] >= 0) if served else np.zeros(len(same), bool)
    sends = dict(_sends(of_request, same, flows, fabric.topology.bandwidth_bps / 8.0, by_group, usages))
    idle = zip(same.device.tolist(), same.duration_s.tolist(), strict=True)
    steps = [sends.get(row, Step(*numbers)) for row, numbers in enumerate(idle)]
    waits: list[list[int]] = [[] for _ in steps]
    for before, after in zip(same.before.tolist(), same.after.tolist(), strict=True):
        waits[after].append(before)
    if by_group:
        _join(steps, waits)
    if same.computes_without_waiting:
        computes = same.device >= 0
        for number in range(len(same)):
            done_s = max((float(same.free_finish_s[k]) for k in waits[number] if computes[k]), default=0.0)
            waits[number] = [k for k in waits[number] if not computes[k]]
            if not waits[number]:
                steps[number] = replace(steps[number], lead_s=steps[number].lead_s + done_s)
            elif done_s:
                waits[number].append(len(steps))
                steps.append(Step(-1, done_s))
                waits.append([])
        for number in np.flatnonzero(computes).tolist():
            steps[number], waits[number] = Step(-1, 0.0), []
        steps.append(Step(-1, float(same.free_finish_s[computes].max(initial=0.0))))
        waits.append([])
    # leave out steps that take no time and that nothing waits for; at least one stays
    needed = {k for row in waits for k in row}
    kept = [k for k, step in enumerate(steps) if step.lead_s or step.size_bytes or k in needed] or [0]
    new = {number: place for place, number in enumerate(kept)}
    steps, waits = [steps[k] for k in kept], [[new[before] for before in waits[k]] for k in kept]
    used = tuple((np.frombuffer(link, np.int64), np.frombuffer(share)) for link, share in usages)
    return SharedJob(tuple(steps), tuple(tuple(row) for row in waits), used)


def _sends(
    of_request: Flags,
    same: Lockstep,
    flows: Flows,
    link_bytes_per_s: Floats,
    by_group: bool,
    usages: dict[tuple[bytes, bytes], int],
) -> Iterable[tuple[int, Step]]:
    """Yield the steps that send, with their numbers; new usages are added.

    With group connections, the sends of a step over one connection are one flow, otherwise as many as there are.
    """
    step = same.step[np.repeat(np.arange(len(same.step)), np.diff(flows.task_flow))]
    order = np.argsort(step, kind="stable")
    rows, begins = np.unique(step[order], return_index=True)
    ends = [*begins[1:].tolist(), len(order)]
    known: dict[tuple[bytes, bytes], int] = {}
    for row, begin, end in zip(rows.tolist(), begins.tolist(), ends, strict=False):
        mine = order[begin:end]
        classes, amount = flows.flow_class[mine], flows.occupied_bytes[mine]
        if by_group:
            classes, place = np.unique(classes, return_inverse=True)
            amount = np.bincount(place, amount).astype(np.float64)
        part = amount / amount.max()
        key = classes.tobytes(), part.tobytes()
        if key not in known:
            link, share = _usage(flows, classes, part)
            share /= link_bytes_per_s[link]
            known[key] = usages.setdefault((link.tobytes(), share.tobytes()), len(usages))
        before_s = float(flows.before_s[mine].max())
        tail_s = float((flows.before_s[mine] + flows.after_s[mine]).max()) - before_s
        lead_s = float(same.duration_s[row]) + before_s
        yield row, Step(-1, lead_s, tail_s, float(amount.max()), known[key], not of_request[row])


def _usage(flows: Flows, classes: Ints, part: Floats) -> Usage:
    """Return the links of classes together and bytes on them, each class with its part."""
    first, last = flows.class_first[classes], flows.class_first[classes + 1]
    begins = np.cumsum(last - first) - (last - first)
    entry = np.repeat(first - begins, last - first) + np.arange(int((last - first).sum()))
    link, inverse = np.unique(flows.class_link[entry], return_inverse=True)
    share = np.bincount(inverse, flows.class_coefficient[entry] * np.repeat(part, last - first))
    return link.astype(np.int64), share.astype(np.float64)


SMALL = 0.01
"""Steps of at most this part of another's bytes go with it; so much later may the other be through, at most."""


def _join(steps: list[Step], waits: list[list[int]]) -> None:
    """Move the bytes of small steps to a large one that begins no sooner; they remain as waits of no length."""
    leads_to: list[list[int]] = [[] for _ in steps]
    for after, row in enumerate(waits):
        for before in row:
            leads_to[before].append(after)
    alike: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, step in enumerate(steps):
        if step.size_bytes and step.steady:
            key = step.usage, tuple(waits[number]), tuple(leads_to[number])
            alike.setdefault(key, []).append(number)
    for numbers in alike.values():
        large = max(numbers, key=lambda number: steps[number].size_bytes)
        for number in numbers:
            step, other = steps[number], steps[large]
            if step.size_bytes <= SMALL * other.size_bytes and step.lead_s <= other.lead_s:
                tail_s = max(step.tail_s, other.tail_s)
                steps[large] = replace(other, size_bytes=other.size_bytes + step.size_bytes, tail_s=tail_s)
                steps[number] = Step(-1, 0.0)


def lockstep(graph: TaskGraph) -> Lockstep:
    """Return the steps of a task graph."""
    finish_s = compute_finish_s(graph)
    color, device_color = _refined(graph, finish_s)
    _, first_task, step = np.unique(color, return_index=True, return_inverse=True)
    order = np.argsort(first_task, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    step, first_task = number[step], first_task[order]
    source = np.repeat(step, np.diff(graph.successor_first))
    before, after = np.divmod(np.unique(source * len(order) + step[graph.successor]), len(order))
    computes = graph.device[first_task] >= 0
    device = np.full(len(order), -1, np.int64)
    device[computes] = np.unique(device_color[graph.device[first_task[computes]]], return_inverse=True)[1]
    return Lockstep(
        step, first_task, device, graph.duration_s[first_task], before, after, finish_s[first_task]
    )


def _refined(graph: TaskGraph, finish_s: Floats) -> tuple[Ints, Words]:
    """Return the color of each task and of each device once colors distinguish no more of them."""
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    computes = np.flatnonzero(graph.device >= 0)
    words = np.random.default_rng(0).integers(0, 2**64, (3, len(graph)), np.uint64)
    columns = (
        graph.kind,
        graph.duration_s.view(np.int64),
        graph.size_bytes,
        graph.collective,
        np.diff(graph.member_first),
        finish_s.view(np.int64),
    )
    color = _numbered(*columns)
    while True:
        rank = _rank_on_device(graph.device, color)
        signs = words[:, color]
        in_queue = _summed(graph.device[computes], signs[0, computes], graph.devices)
        own_queue = np.zeros(len(graph), np.uint64)
        own_queue[computes] = in_queue[graph.device[computes]]
        follow = _summed(source, signs[1, graph.successor], len(graph))
        lead = _summed(graph.successor, signs[2, source], len(graph))
        finer = _numbered(color, rank, own_queue, follow, lead)
        if finer.max(initial=0) == color.max(initial=0):
            return color, in_queue
        color = finer


def _numbered(*columns: Ints | Words) -> Ints:
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        value = np.unique(column, return_inverse=True)[1]
        number = np.unique(number * (int(value.max(initial=0)) + 1) + value, return_inverse=True)[1]
    return number.astype(np.int64)


def _summed(index: Ints, value: Words, size: int) -> Words:
    """Return the sum of the values of each index, modulo 2**64: equal multisets have equal sums."""
    total = np.zeros(size, np.uint64)
    np.add.at(total, index, value)
    return total


def _rank_on_device(device: Ints, color: Ints) -> Ints:
    """Return the place of each compute task among those of its device and color, by task number; 0 otherwise."""
    order = np.lexsort((color, device))
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(device[order]) != 0) | (np.diff(color[order]) != 0)
    place = np.arange(len(order))
    rank = np.zeros(len(order), np.int64)
    rank[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return np.where(device < 0, 0, rank)
