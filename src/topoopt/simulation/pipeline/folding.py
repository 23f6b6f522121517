"""Replicas that do the same on links of their own are simulated once, and stand for all others.

Replicas that exchange data in every pass, share servers or share links before the gradients are summed belong together:
they are one *block*. Blocks meet only in the synchronizations that all of them take part in. So where two blocks send
the same bytes at the same moments over links of equal bandwidth that are used alike, they take the same time, and one
of them is enough: it is simulated with the synchronizations of everybody. A broken link or an irregular wiring makes
blocks differ or joins them; then one of each kind is simulated, and of a single block everything.

Where that would be too many tasks, the block that waits most for links is simulated alone. Its transfers over shared
links take longer: the bytes that other blocks send over the link in the same pass go first.
"""

import weakref
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, entries_of, grouped, numbered, owners
from topoopt.routing import Fabric
from topoopt.simulation.analytic.simulator import analytic_of_flows, flow_result
from topoopt.simulation.flows.flows import Flows, make_flows, pair_demands
from topoopt.simulation.options import DEFAULT_OPTIONS
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, add_exchange, add_transfers
from topoopt.simulation.result import Folded, SimResult
from topoopt.simulation.task_graph import TaskGraph
from topoopt.simulation.tasks.build_task_graph import Draft
from topoopt.workloads.pipelined_step import PipelinedStep

Labels = NDArray[np.uint64]
ROUNDS = 2
"""Rounds of refinement: links differ by the transfers over them, and transfers by their links."""


@dataclass(frozen=True, eq=False)
class _Sample:
    """Everything that a step sends, each once.

    Attributes
    ----------
    graph : TaskGraph
        Its tasks do not wait for each other.
    kind, place : int64 arrays, shape (tasks,)
        Equal for tasks that do the same in different replicas; ``place`` counts those of a kind in one of them.
    replica : int64 array, shape (tasks,)
        First replica that takes part; -1 for a synchronization.
    times : int64 array, shape (tasks,)
        Times that it is sent in an iteration.
    block : int64 array, shape (replicas,)
        Number of each replica's block if blocks shared no links.
    """

    graph: TaskGraph
    kind: Ints
    place: Ints
    replica: Ints
    times: Ints
    block: Ints


@dataclass(frozen=True, eq=False)
class FoldedStep:
    """A step of some of the replicas, with the synchronizations of all.

    Attributes
    ----------
    sent : Flows
        Bytes that all replicas send in an iteration.
    own_links : int64 array
        Links that the replicas of the step send over.
    stretch : (int64 array, float64 array), optional
        Pairs of servers, ``src * servers + dst``, and factors of the time for which their transfers hold links; none
        where the step takes exactly as long as that of all replicas.
    """

    step: PipelinedStep
    folded: Folded
    sent: Flows
    own_links: Ints
    stretch: tuple[Ints, Floats] | None

    def simulated(self, graph: TaskGraph, fabric: Fabric) -> SimResult:
        """Return the result of the analytic simulator on a graph of the step."""
        flows = make_flows(graph, fabric, DEFAULT_OPTIONS)
        if self.stretch is not None:
            _, src, dst, _ = pair_demands(graph)
            pairs = numbered(src * fabric.topology.servers + dst, fabric.topology.servers**2)[0]
            known, factor = self.stretch
            longer = np.ones(len(flows.classes.row))
            longer[: len(pairs)] = factor[np.searchsorted(known, pairs)]
            flows = replace(flows, occupied_bytes=flows.occupied_bytes * longer[flows.flow_class])
        return analytic_of_flows(graph, fabric, flows, DEFAULT_OPTIONS)

    def of_all(self, result: SimResult, fabric: Fabric) -> SimResult:
        """Return the result of the step with the bytes of all replicas."""
        times_s = result.start_s, result.finish_s
        whole = flow_result("analytic", result.graph, fabric, self.sent, result.options, times_s)
        link_bytes = whole.link_bytes
        if self.stretch is None:
            link_bytes[self.own_links] = result.link_bytes[self.own_links]
        return replace(whole, left_out=result.left_out, folded=self.folded)


def fold(step: PipelinedStep, fabric: Fabric, *, exactly: bool) -> FoldedStep | None:
    """Return a step of fewer replicas that takes as long, or None if there is none.

    Parameters
    ----------
    exactly : bool
        Whether the replicas left out must do the same as those that are simulated. Otherwise, where no blocks are
        alike, the one that waits most for the links that it shares is simulated.
    """
    if step.replicas == 1:
        return None
    sample = _sample(step)
    flows = make_flows(sample.graph, fabric, DEFAULT_OPTIONS)
    entries = _Entries.of(flows, fabric, sample)
    block = entries.joined(sample.block)
    kept, alike = entries.one_of_each(step, block)
    stretch, copies = None, np.ones(step.servers)
    if len(kept) == int(block.max()) + 1:
        if exactly:
            return None
        block, factor = sample.block, entries.stretches(sample.block)
        mine = sample.replica >= 0
        kept = np.array([np.argmax(_means(block[sample.replica[mine]], factor[mine]))])
        stretch = _by_pair(sample.graph, factor)
    replicas = np.flatnonzero(np.isin(block, kept))
    if len(replicas) == step.replicas:
        return None
    if stretch is None:
        copies[step.part_servers[:, replicas]] = alike[np.searchsorted(kept, block[replicas])][:, None]
    flow = owners(flows.task_flow)
    return FoldedStep(
        _with_replicas(step, replicas),
        Folded(len(replicas), step.replicas, stretch is None, copies),
        replace(flows, payload_bytes=flows.payload_bytes * sample.times[flow]),
        np.unique(entries.link[np.isin(sample.replica, replicas)[entries.task]]),
        stretch,
    )


def _means(group: Ints, values: Floats) -> Floats:
    return np.bincount(group, values) / np.maximum(np.bincount(group), 1)


def _by_pair(graph: TaskGraph, factor: Floats) -> tuple[Ints, Floats]:
    """Return the pairs of servers that tasks send between, and the largest of the tasks' factors of each."""
    task, src, dst, _ = pair_demands(graph)
    pairs, row = numbered(src * graph.servers + dst, graph.servers**2)
    most = np.ones(len(pairs))
    np.maximum.at(most, row, factor[task])
    return pairs, most


def _with_replicas(step: PipelinedStep, kept: Ints) -> PipelinedStep:
    """Return the step of some replicas: servers keep their numbers, replicas get new ones."""
    number = {replica: place for place, replica in enumerate(kept.tolist())}
    return replace(
        step,
        part_servers=step.part_servers[:, kept],
        exchanges=tuple(
            replace(one, replicas=tuple(number[replica] for replica in one.replicas))
            for one in step.exchanges
            if one.replicas[0] in number
        ),
        synchronizations=tuple(
            replace(one, replicas=replicas)
            for one in step.synchronizations
            if (replicas := tuple(number[replica] for replica in one.replicas if replica in number))
        ),
    )


@dataclass(frozen=True, eq=False)
class _Entries:
    """Links that are sent over, a row for each flow on each link.

    Attributes
    ----------
    link, task : int64 arrays, shape (rows,)
    busy_s : float64 array, shape (rows,)
        Time for which the flow alone holds the link.
    fixed : uint64 array, shape (rows,)
        Label of that time, and of the delays before and after it.
    """

    sample: _Sample
    links: int
    link: Ints
    task: Ints
    busy_s: Floats
    fixed: Labels

    @classmethod
    def of(cls, flows: Flows, fabric: Fabric, sample: _Sample) -> "_Entries":
        entry, flow = entries_of(flows.class_first, flows.flow_class)
        link = flows.class_link[entry].astype(np.int64)
        busy_s = flows.occupied_bytes[flow] * flows.class_coefficient[entry] * 8
        busy_s /= fabric.topology.bandwidth_bps[link]
        fixed = _mixed(busy_s, flows.before_s[flow], flows.after_s[flow])
        return cls(sample, len(fabric.topology), link, owners(flows.task_flow)[flow], busy_s, fixed)

    def joined(self, block: Ints) -> Ints:
        """Return the blocks with those joined that share a link before synchronizations, shape (replicas,)."""
        from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

        mine = self.sample.replica[self.task] >= 0
        count = int(block.max()) + 1
        rows = block[self.sample.replica[self.task[mine]]], count + self.link[mine]
        matrix = coo_array((np.ones(len(rows[0]), np.int8), rows), shape=(count + self.links,) * 2)
        together = connected_components(matrix, directed=False)[1][:count][block]
        return np.unique(together, return_inverse=True)[1]

    def one_of_each(self, step: PipelinedStep, block: Ints) -> tuple[Ints, Floats]:
        """Return a block of each kind, and the number of those that are like it."""
        sample = self.sample
        rank = np.empty(len(block), np.int64)
        order = np.argsort(block, kind="stable")
        rank[order] = np.arange(len(block)) - np.searchsorted(block[order], block[order])
        mine = sample.replica >= 0
        label = _mixed(sample.kind, sample.place, np.where(mine, rank[sample.replica], -1))
        for _ in range(ROUNDS):
            of_link = _summed(self.link, _mixed(label[self.task], self.fixed), self.links)
            label = _mixed(label, _summed(self.task, _mixed(of_link[self.link], self.fixed), len(label)))
        whole = _summed(block[sample.replica[mine]], _mixed(label[mine]), int(block.max()) + 1)
        whole += _summed(block, _mixed(rank), len(whole))
        for number, one in enumerate(step.synchronizations):
            who = np.array(one.replicas)
            whole += _summed(block[who], _mixed(rank[who], np.full(len(who), number)), len(whole))
        _, first, count = np.unique(whole, return_index=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        return first[order], count[order].astype(np.float64)

    def stretches(self, block: Ints) -> Floats:
        """Return the factors by which tasks hold links longer if those of other blocks go first, shape (tasks,).

        Those of the same kind: they are sent in the same pass.
        """
        sample = self.sample
        mine = sample.replica[self.task] >= 0
        link, task, busy_s = self.link[mine], self.task[mine], self.busy_s[mine]
        everyone = sample.kind[task] * self.links + link
        own = everyone * (int(block.max()) + 1) + block[sample.replica[task]]
        (_, row), (_, own_row) = (np.unique(keys, return_inverse=True) for keys in (everyone, own))
        others_s = np.bincount(row, busy_s)[row] - np.bincount(own_row, busy_s)[own_row]
        alone_s, together_s = np.zeros((2, len(sample.kind)))
        np.maximum.at(alone_s, task, busy_s)
        np.maximum.at(together_s, task, busy_s + others_s)
        return np.where(alone_s > 0, together_s / np.where(alone_s > 0, alone_s, 1.0), 1.0)


def _mixed(*columns: Ints | Floats | Labels) -> Labels:
    """Return a label of each row of some columns; two different rows share one with a probability of 1e-19."""
    label = np.full(len(columns[0]), 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        label = (label ^ np.ascontiguousarray(column).view(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        label = (label ^ (label >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        label ^= label >> np.uint64(32)
    return label


def _summed(group: Ints, labels: Labels, groups: int) -> Labels:
    """Return the sums of labels by group, whatever their order."""
    total = np.zeros(groups, np.uint64)
    np.add.at(total, group, labels)
    return total


_KEPT: list[tuple[weakref.ref[PipelinedStep], _Sample]] = []


def _sample(step: PipelinedStep) -> _Sample:
    """Return the sample of a step; that of the last one is kept, for it is simulated on every fabric."""
    if not _KEPT or _KEPT[0][0]() is not step:
        _KEPT[:] = [(weakref.ref(step), _everything_once(step))]
    return _KEPT[0][1]


def _everything_once(step: PipelinedStep) -> _Sample:
    draft, known = Draft(), dict[object, int]()
    columns: list[tuple[Ints, ...]] = [(np.zeros(0, np.int64),) * 4]

    def note(first: int, key: object, replica: Ints | int, times: int) -> None:
        """Note the tasks from the first one on: their kind, their replica, and their number."""
        who = np.broadcast_to(replica, draft.count - first)
        place = np.arange(len(who)) - np.searchsorted(who, who)
        kind = known.setdefault(key, len(known))
        columns.append((np.full(len(who), kind), place, who, np.full(len(who), times)))

    stage, batches = step.chunk_stage.tolist(), step.micro_batches
    ways = (
        ((stage[chunk], stage[after], one.output_bytes), chunk)
        for chunk, one in enumerate(step.chunks)
        if (after := step.neighbor(chunk, 1)) is not None
    )
    for key, chunks in grouped(ways).items():
        ends = step.part_servers[key[0]], step.part_servers[key[1]]
        for direction, pair in ((FORWARD, ends), (BACKWARD, ends[::-1])):
            first = draft.count
            owner = add_transfers(draft, pair, step.chunks[chunks[0]], direction, chunks[0], 1)[0]
            note(first, (key, direction), owner, len(chunks) * batches)
    alike = grouped(
        (
            (
                (stage[one.chunk], one.direction, one.moment, one.collective, one.turn, one.pair_bytes),
                (one.size_bytes, one.count, one.delay_s, one.nic_s),
                (one.replicas, one.members),
            ),
            one,
        )
        for one in step.exchanges
    )
    for (what, sizes, (replicas, _)), same in alike.items():
        first = draft.count
        add_exchange(draft, same[0], same[0].count, np.zeros((0, 1), np.int64))
        note(first, (what, sizes, tuple(one.chunk for one in same)), replicas[0], len(same) * batches)
    for number, sync in enumerate(step.synchronizations):
        for collective, size in ((sync.collective, sync.size_bytes), ("all-gather", sync.gather_bytes)):
            first = draft.count
            draft.add_collective(collective, sync.members, size, 0.0, 1, 0, 0)
            note(first, (collective, number), -1, 1)
    kind, place, replica, times = (np.concatenate(column) for column in zip(*columns, strict=True))
    graph = draft.graph(step.servers, 1, ("",) * len(step.chunks))
    return _Sample(graph, kind, place, replica, times, _blocks(step))


def _blocks(step: PipelinedStep) -> Ints:
    """Return the block of each replica: those that share servers, or exchange data in passes, are in the same one."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    replicas = np.arange(step.replicas)
    server = np.moveaxis(step.part_servers, 1, 2).ravel() + step.replicas
    pairs = [(np.tile(replicas, len(server) // step.replicas), server)]
    groups = {one.replicas for one in step.exchanges if len(one.replicas) > 1}
    pairs += [(np.full(len(group), group[0]), np.array(group)) for group in groups]
    rows = tuple(np.concatenate(column) for column in zip(*pairs, strict=True))
    size = step.replicas + step.servers
    matrix = coo_array((np.ones(len(rows[0]), np.int8), rows), shape=(size, size))
    return np.unique(connected_components(matrix, directed=False)[1][: step.replicas], return_inverse=True)[1]
