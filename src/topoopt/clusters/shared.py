"""Jobs that share the links of one fabric: how long their iterations take beside each other.

Each job runs its iterations back to back, and what it sends competes for links under max-min fairness, as in
:func:`topoopt.simulation.simulate_together` at flow level. Three things make it fast enough to be asked at every
change of a day's trace: servers in lockstep are one, jobs that meet on no link which can be short are looked at
apart, and what was found for a set of jobs is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from topoopt.base.errors import InvalidInput
from topoopt.clusters.pace import IterationTimes, PlacedJob
from topoopt.clusters.shared_connections import connect
from topoopt.clusters.shared_job import SharedJob, shared_job
from topoopt.clusters.shared_links import meeting_jobs
from topoopt.clusters.shared_lockstep import Lockstep, lockstep
from topoopt.clusters.shared_options import DEFAULT_SHARING, SharingOptions
from topoopt.clusters.shared_run import run_alone, run_together
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import TaskGraph, merge_jobs

_Key = tuple[str, TaskGraph, tuple[int, ...], bool]


@dataclass(frozen=True, slots=True)
class _Connected:
    """A job with its connections, and its iteration time where nobody disturbs it."""

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
        own = connect(self.fabric, job, placed, self.options.rings, self.options.seed, spread)
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
    """Return what says how long iterations take on a fabric while a set of jobs runs.

    Parameters
    ----------
    fabric : Fabric
        Of fixed links; see :func:`shared_fabric`. Groups that it has rings for use those.

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
        If there is no such fabric, or a number is outside what it allows.
    """
    return build_fabric(name, replace(request, shape=replace(request.shape, switches=True)))
