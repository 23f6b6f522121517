"""Times of a pipelined step on a fabric: each communication, and the passes of one replica by its schedule.

A worker's transfers in one direction are sequential; nothing else shares its links.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import isnan

import numpy as np

from topoopt.base.arrays import Floats, Ints, entries_of, grouped
from topoopt.routing import Fabric
from topoopt.simulation.flows.flows import Flows, make_flows
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, add_exchange, add_transfers
from topoopt.simulation.task_graph import TaskGraph
from topoopt.simulation.tasks.build_task_graph import Draft
from topoopt.workloads.pipelined_step import PASSES, Exchange, PipelinedStep

Key = tuple[int, int]
"""Direction of a pass as an index into ``PASSES``, and the chunk."""
Around = tuple[float, float, int]
"""Seconds of an exchange before it needs links, those for which it would hold them alone, and its operations."""
TIE_S = 1e-15


@dataclass(slots=True)
class _Request:
    """An exchange that is in progress or queued: its pass, and the remaining time."""

    place: int
    delay_s: float
    links_s: float


@dataclass(slots=True)
class _Queue:
    """Exchanges of one kind; the first is in progress."""

    seconds: dict[Key, Around]
    before: bool
    waiting: deque[_Request] = field(default_factory=deque)


@dataclass(slots=True)
class Queues:
    """The exchanges around the passes of one stage, while its passes are played.

    Exchanges before pass k may begin when pass k - 2 is done; those of the first two passes begin at once. All but
    one operation of the first pass, and of the last, overlap with it.

    Attributes
    ----------
    order : list of (direction, chunk)
        Order of the stage's passes.
    """

    order: list[Key]
    queues: list[_Queue] = field(default_factory=list)
    now_s: float = 0.0
    fetched: dict[int, float] = field(default_factory=dict)

    def add(self, seconds: dict[Key, Around], *, before: bool) -> None:
        """Add a kind of exchanges."""
        queue = _Queue(seconds, before)
        self.queues.append(queue)
        if before:
            self._request(queue, 0, self.order[0], one_of_them=True)
            self._request(queue, 1, self.order[0], one_of_them=False)
            self._request(queue, 1, self.order[1])

    def fetched_s(self, place: int) -> float:
        """Return the end of all exchanges before a pass; the passes before it are done."""
        while any(
            queue.before and queue.waiting and queue.waiting[0].place <= place for queue in self.queues
        ):
            self._advance(float("inf"))
        return self.fetched.get(place, 0.0)

    def finish(self, place: int, end_s: float) -> None:
        """Record that a pass is done at ``end_s``."""
        if not self.queues:
            return
        while self._advance(end_s):
            pass
        last = len(self.order) - 1
        for queue in self.queues:
            if queue.before:
                if place + 2 <= last:
                    self._request(queue, place + 2, self.order[place + 2])
                continue
            if place < last:
                self._request(queue, place, self.order[place])
            if place >= last - 1:
                self._request(queue, last, self.order[last], one_of_them=place == last)

    def drained_s(self) -> float:
        """Return the end of all exchanges, 0 if there are none."""
        while any(queue.waiting for queue in self.queues):
            self._advance(float("inf"))
        return self.now_s

    def _request(self, queue: _Queue, place: int, key: Key, *, one_of_them: bool | None = None) -> None:
        """Request the exchange of a pass; or of one of its operations, or of all but one."""
        if key in queue.seconds:
            delay_s, links_s, count = queue.seconds[key]
            share = 1.0 if one_of_them is None else 1 / count if one_of_them else 1 - 1 / count
            queue.waiting.append(_Request(place, delay_s * share, links_s * share))

    def _advance(self, until_s: float) -> bool:
        """Advance to ``until_s`` or until something changes; return whether it has."""
        active = [queue.waiting[0] for queue in self.queues if queue.waiting]
        delayed = [one for one in active if one.delay_s > TIE_S]
        moving = [one for one in active if one.delay_s <= TIE_S]
        share = max(len(moving), 1)
        changes = [one.delay_s for one in delayed] + [one.links_s * share for one in moving]
        passed_s = min([until_s - self.now_s, *changes])
        for one in delayed:
            one.delay_s -= passed_s
        for one in moving:
            one.links_s -= passed_s / share
        self.now_s += passed_s
        for queue in self.queues:
            if queue.waiting and max(queue.waiting[0].delay_s, queue.waiting[0].links_s) <= TIE_S:
                place = queue.waiting.popleft().place
                if queue.before:
                    self.fetched[place] = max(self.fetched.get(place, 0.0), self.now_s)
        return self.now_s < until_s and bool(changes)


Seconds = list[float]


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Seconds of the passes of one replica through each chunk, and of the transfers between chunks.

    Attributes
    ----------
    seconds : list of lists, one per direction and chunk
        Time of a pass, with the exchanges inside it.
    output_s, gradient_s : lists, one per chunk
        Time of sending activations from the chunk to the next, and of the gradients that come back; the last entry
        is not used.
    """

    seconds: list[Seconds]
    output_s: Seconds
    gradient_s: Seconds


@dataclass(frozen=True, slots=True)
class Played:
    """End of each stage's passes and of the work after them, and end of each chunk's last pass."""

    stage_end_s: Seconds
    drained_s: Seconds
    last_begin_s: Seconds
    last_end_s: Seconds


@dataclass(frozen=True, eq=False)
class LinkTime:
    """The communications of a task graph on the links of a fabric; dependencies are not looked at."""

    flows: Flows
    capacity_bytes_per_s: Floats

    def together(self, tasks: Ints) -> Floats:
        """Return the time of each task if all begin at once, shape (tasks,), without the delays before them.

        A task ends when the busiest of its links has carried the bytes of all of them.
        """
        flow, owner, entry, row = self._entries(tasks)
        busy_s = self._busy_s(flow, entry, row)
        link = self.flows.class_link[entry]
        fixed_s = self.flows.before_s[flow] + self.flows.after_s[flow]
        end_s = np.zeros(len(flow))
        np.maximum.at(end_s, row, busy_s[link])
        taken_s = np.zeros(len(tasks))
        np.maximum.at(taken_s, owner, end_s + fixed_s)
        return taken_s

    def busy_s(self, tasks: Ints) -> Floats:
        """Return the busy time of each link by the tasks, shape (links,)."""
        flow, _, entry, row = self._entries(tasks)
        return self._busy_s(flow, entry, row)

    def fixed_s(self, tasks: Ints) -> float:
        """Return the longest part of a task that keeps no link busy: latencies, and barriers between rounds."""
        flow = self._entries(tasks)[0]
        return float((self.flows.before_s[flow] + self.flows.after_s[flow]).max(initial=0.0))

    def _entries(self, tasks: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the tasks' flows, the place of each flow's task, and the entries of each flow's class with its row."""
        flow, owner = entries_of(self.flows.task_flow, tasks)
        entry, row = entries_of(self.flows.class_first, self.flows.flow_class[flow])
        return flow, owner, entry, row

    def _busy_s(self, flow: Ints, entry: Ints, row: Ints) -> Floats:
        link = self.flows.class_link[entry]
        carried = self.flows.occupied_bytes[flow][row] * self.flows.class_coefficient[entry]
        links = len(self.capacity_bytes_per_s)
        return np.bincount(link, carried, minlength=links) / self.capacity_bytes_per_s


@dataclass(frozen=True, eq=False)
class Operations:
    """Seconds of the communications of a step.

    Attributes
    ----------
    sent_s : float64 array, shape (2, chunks, replicas)
        Time of sending chunk c's output on, and of the gradients that come back to it; 0 inside a server.
    inside_s : float64 array, shape (directions, chunks)
        Time of all exchanges inside a pass.
    around_s : mapping from an exchange before or after a pass to its seconds
        See :data:`~topoopt.simulation.pipeline.pass_times.Around`.
    links : LinkTime
    gradients, parameters : tuples of int64 arrays, one per synchronization
        Tasks of ``links``.
    beside_s : tuple of float, one per synchronization
        Seconds of the gathers beside the next forward passes, all at once.
    """

    sent_s: Floats
    inside_s: Floats
    around_s: dict[Exchange, Around]
    links: LinkTime
    gradients: tuple[Ints, ...]
    parameters: tuple[Ints, ...]
    beside_s: tuple[float, ...]


def operations(step: PipelinedStep, fabric: Fabric, options: SimulationOptions) -> Operations:
    """Return the communications of a step on a fabric."""
    draft = Draft()
    sends = {}
    for chunk in range(len(step.chunks)):
        after = step.neighbor(chunk, 1)
        if after is None:
            continue
        ends = [step.part_servers[step.chunk_stage[one]] for one in (chunk, after)]
        for direction, (src, dst) in ((FORWARD, ends), (BACKWARD, ends[::-1])):
            owner, _, tasks = add_transfers(draft, (src, dst), step.chunks[chunk], direction, chunk, 1)
            sends[direction, chunk] = owner, tasks[:, 0]
    exchanges = [_add(draft, one) for one in step.exchanges]
    gradients, parameters = (
        tuple(
            draft.add_collective(kind or one.collective, one.members, getattr(one, size), 0.0, 1, 0, 0)
            for one in step.synchronizations
        )
        for kind, size in (("", "size_bytes"), ("all-gather", "gather_bytes"))
    )
    links = link_time(draft.graph(step.servers, 1, ("",) * len(step.chunks)), fabric, options)
    inside_s = _inside_s(step, exchanges, links)
    taken_s = links.together(np.concatenate((*parameters, np.zeros(0, np.int64)))).tolist()
    beside_s = tuple(
        one.overlap * (one.gather_delay_s + max(seconds, one.gather_nic_s))
        for one, seconds in zip(step.synchronizations, taken_s, strict=True)
    )
    around_s = _around_s(step, exchanges, links)
    return Operations(_sent_s(step, sends, links), inside_s, around_s, links, gradients, parameters, beside_s)


def _add(draft: Draft, one: Exchange) -> Ints:
    first = draft.count
    add_exchange(draft, one, one.count, np.zeros((0, 1), np.int64))
    return np.arange(first, draft.count)


def _around_s(step: PipelinedStep, exchanges: list[Ints], links: LinkTime) -> dict[Exchange, Around]:
    """Return the seconds of each exchange around passes; groups of other replicas take theirs over the same links."""
    alike: dict[tuple[object, ...], list[tuple[Exchange, Ints]]] = defaultdict(list)
    for one, tasks in zip(step.exchanges, exchanges, strict=True):
        if one.moment != "inside":
            pattern = one.collective, len(one.members), len(one.replicas)
            alike[one.moment, one.direction, one.chunk, *pattern].append((one, tasks))
    around_s: dict[Exchange, Around] = {}
    for group in alike.values():
        taken_s = links.together(np.concatenate([tasks for _, tasks in group]))
        first = 0
        for one, tasks in group:
            fixed_s, last = links.fixed_s(tasks), first + len(tasks)
            links_s = max(float(taken_s[first:last].max()) - fixed_s, one.nic_s)
            around_s[one], first = (one.delay_s + fixed_s, links_s, one.count), last
    return around_s


def _sent_s(step: PipelinedStep, sends: dict[tuple[int, int], tuple[Ints, Ints]], links: LinkTime) -> Floats:
    sent_s = np.zeros((2, len(step.chunks), step.replicas))
    for (direction, chunk), (owner, tasks) in sends.items():
        taken_s = links.together(tasks) + step.chunks[chunk].output_delay_s
        np.maximum.at(sent_s[direction, chunk], owner, taken_s)
    return sent_s


def _inside_s(step: PipelinedStep, exchanges: list[Ints], links: LinkTime) -> Floats:
    """Return the sum over turns of the longest exchange of each turn, shape (directions, chunks)."""
    turns = grouped(
        ((PASSES.index(one.direction), one.chunk, one.turn), index)
        for index, one in enumerate(step.exchanges)
        if one.moment == "inside"
    )
    inside_s = np.zeros(step.pass_s.shape)
    for (direction, chunk, _), indices in turns.items():
        tasks = [exchanges[index] for index in indices]
        taken_s = links.together(np.concatenate(tasks))
        longest = np.maximum.reduceat(taken_s, np.cumsum([0, *map(len, tasks)])[:-1])
        delays, nics = np.array(
            [(step.exchanges[index].delay_s, step.exchanges[index].nic_s) for index in indices]
        ).T
        inside_s[direction, chunk] += float((np.maximum(longest, nics) + delays).max())
    return inside_s


def link_time(graph: TaskGraph, fabric: Fabric, options: SimulationOptions) -> LinkTime:
    """Return the communications of a graph on a fabric.

    Raises
    ------
    NoRoute, InvalidInput
        If a pair cannot be reached or a ring uses a link that is not there.
    """
    flows = make_flows(graph, fabric, options)
    return LinkTime(flows, fabric.topology.bandwidth_bps / 8.0)


def play(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    """Return the ends of one replica's workers.

    Parameters
    ----------
    queues : tuple of Queues, one per stage
        Exchanges around the passes of each stage.
    """
    stages, last = step.stages, len(step.chunks) - 1
    never = float("nan")
    arrived = [[[never] * step.micro_batches for _ in step.chunks] for _ in (0, 1)]
    orders = [_passes(step, stage) for stage in range(stages)]
    free_s, place = [0.0] * stages, [0] * stages
    sent_s = [[0.0] * stages, [0.0] * stages]
    begin_s, end_s = [0.0] * (last + 1), [0.0] * (last + 1)
    seconds = times.seconds
    stage = waiting = 0
    while waiting < stages:
        order, at = orders[stage], place[stage]
        waiting += 1
        while at < len(order):
            backward, chunk, batch = order[at]
            # when the input of a pass is there; nan if that is not known yet
            if not backward:
                ready_s = arrived[0][chunk - 1][batch] if chunk else 0.0
            else:
                ready_s = arrived[0][chunk][batch] if chunk == last else arrived[1][chunk + 1][batch]
            if isnan(ready_s):
                break
            begin = max(free_s[stage], ready_s, queues[stage].fetched_s(at))
            free_s[stage] = begin + seconds[backward][chunk]
            if backward:
                sent = times.gradient_s[chunk - 1] if chunk else 0.0
            else:
                sent = times.output_s[chunk] if chunk < last else 0.0
            if sent:
                sending = max(sent_s[backward][stage], free_s[stage]) + sent
                sent_s[backward][stage] = arrived[backward][chunk][batch] = sending
                if step.chunks[chunk - backward].blocking and at + 1 < len(order):
                    free_s[stage] = sending
            else:
                arrived[backward][chunk][batch] = free_s[stage]
            queues[stage].finish(at, free_s[stage])
            if backward:
                begin_s[chunk], end_s[chunk] = begin, free_s[stage]
            at += 1
            waiting = 0
        place[stage] = at
        stage = (stage + 1) % stages
    assert place == [len(order) for order in orders], "a schedule never blocks"
    drained_s = [queue.drained_s() for queue in queues]
    return Played(free_s, drained_s, begin_s, end_s)


def _passes(step: PipelinedStep, stage: int) -> list[tuple[int, int, int]]:
    order = step.order_of(stage)
    columns = order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist()
    return list(zip(*columns, strict=True))
