"""A job as the kernel of shared fabrics runs it: few steps, and what each of them puts on which links."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.clusters.shared_lockstep import Lockstep
from topoopt.clusters.shared_options import SharingOptions
from topoopt.routing import Fabric
from topoopt.simulation import Flows, SimulationOptions, TaskGraph, make_flows

Usage = tuple[Ints, Floats]
"""Links, and the part of each that is taken for every byte/s of a step, in s/byte."""


@dataclass(frozen=True, slots=True)
class MostUse:
    """How full a job alone can make links.

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
    """What happens at once in an iteration: a computation, a wait, or bytes sent on links.

    Attributes
    ----------
    device : int
        Where a computation queues, -1 for all else.
    lead_s : float
        Length of a computation or wait; of what sends, the time until its first byte.
    tail_s : float
        Time between the last byte and the end.
    size_bytes : float
        Bytes for which a link of coefficient 1 is held; 0 where nothing is sent.
    usage : int
        Index into the usages of the job, -1 where nothing is sent.
    steady : bool
        False for what a request of a served model sends once it has come.
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
        Sets of links; what has the same one goes over the same connections.
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
        """What the job can put on links, whatever it sends at the same time.

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
    same : Lockstep
        Its steps.
    fabric : Fabric
        With the connections of the job, see :func:`topoopt.clusters.shared.connect`.
    options : SharingOptions
        With connections of groups, small steps go with a large one that waits for the same, on the same connections,
        and leads to the same: with fewer steps that carry the same bytes.
    served : bool
        Whether tasks of an operator are what requests send, which are watched apart, and never go with others.
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
        _put_on_timers(same, steps, waits)
    steps, waits = _kept(steps, waits)
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

    What a step sends over one connection of a group is one flow, else it is as many as there are.
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
    """Move the bytes of small steps to a large one that begins no sooner; they are left as waits of no length."""
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


def _put_on_timers(same: Lockstep, steps: list[Step], waits: list[list[int]]) -> None:
    """Let what waits for computations begin when they are known to be done."""
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


def _kept(steps: list[Step], waits: list[list[int]]) -> tuple[list[Step], list[list[int]]]:
    """Leave out steps that take no time and that nothing waits for; at least one stays."""
    needed = {k for row in waits for k in row}
    kept = [k for k, step in enumerate(steps) if step.lead_s or step.size_bytes or k in needed] or [0]
    new = {number: place for place, number in enumerate(kept)}
    return [steps[k] for k in kept], [[new[before] for before in waits[k]] for k in kept]
