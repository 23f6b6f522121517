"""Jobs that share the links of one fabric: how long their iterations take beside each other.

Each job runs its iterations back to back, and its traffic competes for links under max-min fairness, as in
:func:`topoopt.simulation.simulate_together` at flow level. Three things make it fast enough to run at every change
of a day's trace: servers in lockstep are merged, jobs that share no link that can be saturated are simulated
separately, and results for a set of jobs are cached.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.clusters.pace import IterationTimes, PlacedJob
from topoopt.clusters.settings import DEFAULT_SHARING, SPREAD, SharingOptions
from topoopt.clusters.shared_job import Lockstep, SharedJob, lockstep, shared_job
from topoopt.clusters.shared_run import meeting_jobs, run_alone, run_together
from topoopt.finder import FabricRequest, build_fabric, lay_rings
from topoopt.routing import (
    ExplicitRoutes,
    Fabric,
    Path,
    chosen_paths,
    connection_uniform,
    cumulative_weights,
    path_table,
)
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TRANSFER, TaskGraph, merge_jobs
from topoopt.topologies import Ring

_Key = tuple[str, TaskGraph, tuple[int, ...], bool]


@dataclass(frozen=True, slots=True)
class _Connected:
    """A job with its connections, and its iteration time alone."""

    job: SharedJob
    alone: IterationTimes


@dataclass(frozen=True, eq=False)
class SharedPace:
    """A :class:`topoopt.clusters.Pace` on one fabric; make it with :func:`shared_pace`."""

    fabric: Fabric
    options: SharingOptions
    _steps: dict[TaskGraph, Lockstep] = field(default_factory=dict, repr=False)
    _jobs: dict[_Key, _Connected] = field(default_factory=dict, repr=False)
    _known: dict[frozenset[_Key], dict[_Key, IterationTimes]] = field(default_factory=dict, repr=False)

    def __call__(self, running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        """Return the iteration times of each running job, in order.

        Raises
        ------
        InvalidInput
            If two jobs have one name, a job does not fit its servers, or jobs are too unlike in length.
        """
        keys = [(placed.job, placed.graph, placed.servers, placed.spread) for placed in running]
        if len({placed.job for placed in running}) < len(running):
            raise InvalidInput("shared fabric: two running jobs have one name; give each its own")
        self._jobs.update({key: self._connected(*key) for key in keys if key not in self._jobs})
        for gone in set(self._jobs).difference(keys):
            del self._jobs[gone]
        times: dict[_Key, IterationTimes] = {}
        for group in meeting_jobs([self._jobs[key].job for key in keys]):
            times.update(self._times([keys[job] for job in group]))
        alone = [self._jobs[key].alone for key in keys]
        return tuple(
            replace(times[key], alone_s=own.mean_s, sends_alone=own.sends)
            for key, own in zip(keys, alone, strict=True)
        )

    def _connected(self, job: str, graph: TaskGraph, servers: tuple[int, ...], spread: bool) -> _Connected:
        placed = merge_jobs([graph], (servers,), [1], self.fabric.topology.servers).graph
        all_paths = spread or self.options.paths == SPREAD
        own = connect(self.fabric, job, placed, self.options.rings, self.options.seed, all_paths)
        if graph not in self._steps:
            self._steps[graph] = lockstep(graph)
        ready = shared_job(placed, self._steps[graph], own, self.options, served=spread)
        return _Connected(ready, run_alone(ready, self.options))

    def _times(self, keys: Sequence[_Key]) -> dict[_Key, IterationTimes]:
        """Return the times of jobs that meet; the same whatever the order in which they are given."""
        group = frozenset(keys)
        if group not in self._known:
            order = sorted(keys, key=lambda key: key[0])
            jobs = [self._jobs[key] for key in order]
            names, alone = [key[0] for key in order], [job.alone for job in jobs]
            times = run_together(names, [job.job for job in jobs], alone, self.options)
            self._known[group] = dict(zip(order, times, strict=True))
        return self._known[group]


def shared_pace(fabric: Fabric, options: SharingOptions = DEFAULT_SHARING) -> SharedPace:
    """Return a function for the iteration times on a fabric while a set of jobs runs.

    Parameters
    ----------
    fabric : Fabric
        Fabric with fixed links; see :func:`shared_fabric`. Its rings are used for the groups that have any.

    Raises
    ------
    InvalidInput
        If the circuits of the fabric change.
    """
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"shared fabric: {fabric.name} changes its circuits to suit one job; take one of fixed links, such as "
            "fat-tree, oversub-fat-tree or ideal-switch"
        )
    return SharedPace(fabric, options)


def shared_fabric(name: str, request: FabricRequest) -> Fabric:
    """Return a fabric for jobs to share: every switch a node, so that connections can collide, and no rings yet.

    A server has one link of all its bandwidth into a switch (ideal-switch, fat-tree, oversub-fat-tree), one for each
    interface on a rail, and its interfaces dealt to its neighbors on fabrics without switches, as in
    :func:`topoopt.finder.build_fabric`. By default it has d·B in all, on a fat-tree d·B / 3.2.

    Raises
    ------
    InvalidInput
        If there is no such fabric, or a number is out of range.
    """
    return build_fabric(name, replace(request, shape=replace(request.shape, switches=True)))


def connect(
    fabric: Fabric, job: str, graph: TaskGraph, rings: int, seed: int, spread: bool = False
) -> Fabric:
    """Return the fabric as a job sees it that has opened its connections.

    Every pair of servers with transfers between them has one connection, whose path is drawn by weight, as
    switches hash it; on rails one for each interface, since every accelerator has its own. Every ring edge of a group
    is one connection too. They stay as they are from iteration to iteration; another job on the same servers draws
    anew.

    Parameters
    ----------
    graph : TaskGraph
        An iteration of the job, on servers of the fabric.
    rings : int
        Most rings of a group; 0 for as many as a server has links.
    spread : bool
        Whether bytes are on all paths by weight, as the fabric routes them, those of rings over switches too.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    own_seed = np.random.SeedSequence([seed, zlib.crc32(job.encode())]).generate_state(1).tolist()[0]
    topology = fabric.topology
    most = rings or int(topology.ports[topology.src == 0].sum())
    if spread and topology.nodes > topology.servers:
        return fabric
    laid = {group: fabric.rings.get(group) or _rings(fabric, group, most, own_seed) for group in graph.groups}
    if spread:
        return Fabric(fabric.name, topology, fabric.routes, laid)
    table: dict[tuple[int, int], tuple[Path, ...]] = {}
    for path in _drawn_paths(fabric, graph, own_seed):
        ends = path.nodes[0], path.nodes[-1]
        table[ends] = (*table.get(ends, ()), path)
    return Fabric(fabric.name, topology, ExplicitRoutes(topology, table), laid)


def _rings(fabric: Fabric, group: tuple[int, ...], most: int, seed: int) -> tuple[Ring, ...]:
    """Return the result of ``lay_rings``, faster where servers have one link and all shortest paths are equal."""
    topology, members = fabric.topology, np.asarray(group, np.int64)
    several_links = topology.nodes == topology.servers or np.diff(topology.first_link)[members].max() > 1
    if several_links or fabric.routes.method != "ecmp":
        return lay_rings(topology, fabric.routes, group, most, seed)
    table = path_table(fabric, members, np.roll(members, -1))
    path = table.pair_first[:-1] + (connection_uniform(seed, members) * np.diff(table.pair_first)).astype(
        np.int64
    )
    steps = [table.link[table.path_first[one] : table.path_first[one + 1]] for one in path.tolist()]
    return (Ring(1, tuple(topology.src[np.concatenate(steps)].tolist()), group),)


def _drawn_paths(fabric: Fabric, graph: TaskGraph, seed: int) -> list[Path]:
    sends = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)
    keys = [graph.src[sends].astype(np.int64) * fabric.topology.servers + graph.dst[sends]]
    for members in all_to_all_groups(graph):
        one = np.asarray(members, np.int64)
        src, dst = np.repeat(one, len(one)), np.tile(one, len(one))
        keys.append((src * fabric.topology.servers + dst)[src != dst])
    src, dst = np.divmod(np.unique(np.concatenate(keys)), fabric.topology.servers)
    if not len(src):
        return []
    topology, table = fabric.topology, path_table(fabric, src, dst)
    pair = np.repeat(np.arange(len(src)), np.diff(table.pair_first))
    interface = (
        table.link[table.path_first[:-1]] if topology.nodes > topology.servers else np.zeros_like(pair)
    )
    order = np.lexsort((interface, pair))
    _, first, count = np.unique(
        np.stack((pair, interface))[:, order], axis=1, return_index=True, return_counts=True
    )
    share = np.add.reduceat(table.weight[order], first)
    weights = cumulative_weights(np.append(first, len(order)), table.weight[order] / np.repeat(share, count))
    of = pair[order[first]]
    number = (src * topology.nodes + dst)[of] + topology.nodes**2 * (
        np.arange(len(of)) - np.searchsorted(of, of)
    )
    chosen = order[chosen_paths(np.append(first, len(order)), weights, np.arange(len(of)), number, seed)]
    steps = [table.link[table.path_first[path] : table.path_first[path + 1]] for path in chosen.tolist()]
    return [
        Path((*topology.src[links].tolist(), int(topology.dst[links[-1]])), weight)
        for links, weight in zip(steps, share.tolist(), strict=True)
    ]


def all_to_all_groups(graph: TaskGraph) -> set[tuple[int, ...]]:
    """Return the members of each all-to-all, every group once."""
    tasks = np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == COLLECTIVES.index("all-to-all")))
    return {graph.members(task) for task in tasks.tolist()}
