"""How long each communication of a pipelined step takes on a fabric, those that begin together at once."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints, entries_of
from topoopt.routing import Fabric
from topoopt.simulation.flows.flows import Flows, make_flows
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.pipeline.pass_times import Around
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, add_exchange, add_transfers
from topoopt.simulation.task_graph import TaskGraph
from topoopt.simulation.tasks.draft import Draft
from topoopt.workloads.pipelined_step import PASSES, Exchange, PipelinedStep


@dataclass(frozen=True, eq=False)
class LinkTime:
    """The communications of a task graph on the links of a fabric; dependencies are not looked at."""

    flows: Flows
    capacity_bytes_per_s: Floats

    def together(self, tasks: Ints) -> Floats:
        """Return the seconds of each task if all begin at once, shape (tasks,); what goes before them is left out.

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
        """Return for how long the tasks keep each link busy, shape (links,)."""
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
        Of what chunk c sends on, and of what comes back to it; 0 inside a server.
    inside_s : float64 array, shape (directions, chunks)
        Of all exchanges inside a pass.
    around_s : mapping from an exchange before or after a pass to its seconds
        See :data:`~topoopt.simulation.pipeline.pass_times.Around`.
    links : LinkTime
    gradients, parameters : tuples of int64 arrays, one per synchronization
        Tasks of ``links``.
    """

    sent_s: Floats
    inside_s: Floats
    around_s: dict[Exchange, Around]
    links: LinkTime
    gradients: tuple[Ints, ...]
    parameters: tuple[Ints, ...]


def operations(step: PipelinedStep, fabric: Fabric, options: SimulationOptions) -> Operations:
    """Return the communications of a step on a fabric."""
    draft = Draft()
    sends = _add_sends(draft, step)
    exchanges = [_add(draft, one) for one in step.exchanges]
    gradients, parameters = (
        tuple(
            draft.add_collective(kind or one.collective, one.members, getattr(one, size), 0.0, 1, 0, 0)
            for one in step.synchronizations
        )
        for kind, size in (("", "size_bytes"), ("all-gather", "gather_bytes"))
    )
    links = link_time(draft.graph(step.servers, 1, ("",) * len(step.chunks)), fabric, options)
    around = {
        one: _around_s(one, tasks, links)
        for one, tasks in zip(step.exchanges, exchanges, strict=True)
        if one.moment != "inside"
    }
    inside_s = _inside_s(step, exchanges, links)
    return Operations(_sent_s(step, sends, links), inside_s, around, links, gradients, parameters)


def _add(draft: Draft, one: Exchange) -> Ints:
    first = draft.count
    add_exchange(draft, one, one.count, np.zeros((0, 1), np.int64))
    return np.arange(first, draft.count)


def _around_s(one: Exchange, tasks: Ints, links: LinkTime) -> Around:
    fixed_s = links.fixed_s(tasks)
    return one.delay_s + fixed_s, float(links.together(tasks).max()) - fixed_s, one.count


def _add_sends(draft: Draft, step: PipelinedStep) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    sends = {}
    for chunk in range(len(step.chunks)):
        after = step.neighbor(chunk, 1)
        if after is None:
            continue
        ends = [step.part_servers[step.chunk_stage[one]] for one in (chunk, after)]
        for direction, (src, dst) in ((FORWARD, ends), (BACKWARD, ends[::-1])):
            owner, _, tasks = add_transfers(draft, (src, dst), step.chunks[chunk], direction, chunk, 1)
            sends[direction, chunk] = owner, tasks[:, 0]
    return sends


def _sent_s(step: PipelinedStep, sends: dict[tuple[int, int], tuple[Ints, Ints]], links: LinkTime) -> Floats:
    sent_s = np.zeros((2, len(step.chunks), step.replicas))
    for (direction, chunk), (owner, tasks) in sends.items():
        taken_s = links.together(tasks) + step.chunks[chunk].output_delay_s
        np.maximum.at(sent_s[direction, chunk], owner, taken_s)
    return sent_s


def _inside_s(step: PipelinedStep, exchanges: list[Ints], links: LinkTime) -> Floats:
    """Return the sum over turns of the longest exchange of each turn, shape (directions, chunks)."""
    turns: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, one in enumerate(step.exchanges):
        if one.moment == "inside":
            turns[PASSES.index(one.direction), one.chunk, one.turn].append(index)
    inside_s = np.zeros(step.pass_s.shape)
    for (direction, chunk, _), indices in turns.items():
        tasks = [exchanges[index] for index in indices]
        taken_s = links.together(np.concatenate(tasks))
        longest = np.maximum.reduceat(taken_s, np.cumsum([0, *map(len, tasks)])[:-1])
        delays = np.array([step.exchanges[index].delay_s for index in indices])
        inside_s[direction, chunk] += float((longest + delays).max())
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
