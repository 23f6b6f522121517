"""Decisions of a scheduler when jobs arrive or leave or leases end: workers, servers, and starts of iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.scheduling.model_workers import (
    ChosenPlacement,
    Interleaver,
    PlacedWorkers,
    Placement,
    placed_workers,
)
from topoopt.clusters.scheduling.network import ScheduleSettings, WorkerNetwork
from topoopt.clusters.scheduling.running_job import RunningJob

MOST_CANDIDATES = 10
"""Most candidate placements, as in CASSINI."""
TRIES = 3
"""Draws for each candidate: many draws repeat a placement."""
Servers = Mapping[str, tuple[int, ...]]
"""The servers of each job."""


@dataclass(frozen=True, slots=True)
class ServingWorkers:
    """Workers of served models from now on.

    Attributes
    ----------
    counts : mapping from job to workers
        Workers of each job that has any.
    waiting : bool
        Whether one has come and finds too few.
    ends_leases : bool
        Whether the leases of training end now, for one that has come needs some of those workers.
    """

    counts: Mapping[str, int]
    waiting: bool = False
    ends_leases: bool = False


ON_TIME = 1e-6
"""A job that would wait for this part of an iteration, or for all but it, is on time: that is rounding."""


@dataclass(frozen=True, eq=False)
class Deciding:
    """Scheduler and inputs of its decisions.

    Attributes
    ----------
    interleavers : tuple of Interleaver
        One with CASSINI, none without.
    """

    network: WorkerNetwork
    settings: ScheduleSettings
    interleavers: tuple[Interleaver, ...]
    rng: np.random.Generator

    def decide(self, jobs: Sequence[RunningJob], now_s: float, renewed: bool) -> tuple[ChosenPlacement, ...]:
        """Assign workers to the jobs that have arrived and not ended, and set when they continue.

        Parameters
        ----------
        jobs : sequence of RunningJob
            Jobs in order of arrival; modified.
        renewed : bool
            Whether all leases are over.

        Returns
        -------
        tuple of ChosenPlacement
            Placements with CASSINI, if any job runs.
        """
        services = serving_workers(
            jobs, self.network.servers, renewed, SCHEDULERS[self.settings.scheduler].leases
        )
        renewed = renewed or services.ends_leases
        claims = [job.claim(0 if renewed else len(job.servers)) for job in jobs if not job.job.serving]
        taken = sum(claim.held for claim in claims) + sum(services.counts.values())
        scheduler = SCHEDULERS[self.settings.scheduler]
        given: Sequence[int] = [0] * len(claims)
        # while a model waits to be served, who keeps workers keeps them, and nobody gets more
        if scheduler.leases or not services.waiting:
            given = scheduler.allocate(claims, self.network.servers - taken, now_s, self.settings.epoch_s)
        counts = {claim.job: claim.held + more for claim, more in zip(claims, given, strict=True)}
        counts = {**services.counts, **{job: count for job, count in counts.items() if count}}
        by_name = {job.job.job: job for job in jobs}
        candidates = self._candidates(by_name, counts, renewed)
        placements = [self._placement(by_name, servers) for servers in candidates]
        choices = [
            chooser(placements, self.network.capacities_bps) for chooser in self.interleavers if counts
        ]
        placement = placements[choices[0].candidate if choices else 0]
        self._apply(jobs, placement, now_s)
        for chosen in choices:
            ready_s = [by_name[placed.job].next_start_s for placed in placement]
            starts_s = aligned_starts_s(placement, chosen, ready_s)
            group_of = {job: number for number, jobs in enumerate(chosen.groups) for job in jobs}
            for place, (placed, start_s) in enumerate(zip(placement, starts_s, strict=True)):
                job = by_name[placed.job]
                job.wait(start_s)
                job.slot_s, job.group = chosen.periods_s[place], group_of.get(place)
        return tuple(choices)

    def _candidates(
        self, by_name: Mapping[str, RunningJob], counts: Mapping[str, int], renewed: bool
    ) -> tuple[Servers, ...]:
        """Return placements: those in which jobs stay where they are, then, where leases are over, others.

        Served models are placed first and stay where they are in all of them.
        """
        near = SCHEDULERS[self.settings.scheduler].near
        most = MOST_CANDIDATES if self.interleavers else 1
        served = self._served(by_name, counts, renewed)
        taken = {server for servers in served.values() for server in servers}
        kept: dict[str, tuple[int, ...]] = dict(served)
        counts = {job: count for job, count in counts.items() if job not in served}
        for job, count in counts.items():
            own = tuple(server for server in by_name[job].servers if server not in taken)
            if len(own) > count:
                own = nearest_servers(self.network, set(own), count)
            if own:
                kept[job] = own
        wanted = _largest_first({job: count - len(kept.get(job, ())) for job, count in counts.items()})
        found = candidate_placements(self.network, kept, wanted, near, most, self.rng)
        if renewed and len(found) < most:
            others = candidate_placements(
                self.network, served, _largest_first(counts), near, most - len(found), self.rng
            )
            found += tuple(one for one in others if one not in found)
        return found

    def _served(
        self, by_name: Mapping[str, RunningJob], counts: Mapping[str, int], renewed: bool
    ) -> dict[str, tuple[int, ...]]:
        """Return the servers of served models: their own, or, of one that has just come, the best that may be given."""
        served = {job: by_name[job].servers for job in counts if by_name[job].job.serving}
        others = [job.servers for job in by_name.values() if job.job.serving or not renewed]
        free = set(range(self.network.servers)).difference(*others)
        for job, own in served.items():
            if not own:
                served[job] = self._best_of(free, counts[job])
                free.difference_update(served[job])
        return served

    def _best_of(self, free: set[int], count: int) -> tuple[int, ...]:
        if SCHEDULERS[self.settings.scheduler].near:
            return tuple(sorted(nearest_servers(self.network, free, count)))
        return tuple(self.rng.choice(sorted(free), count, replace=False).tolist())

    def _placement(self, by_name: Mapping[str, RunningJob], servers: Servers) -> Placement:
        placed = []
        for job, on in sorted(servers.items(), key=lambda row: by_name[row[0]].index):
            running = by_name[job]
            if running.servers == on and running.placed is not None:
                placed.append(running.placed)
            else:
                placed.append(placed_workers(self.network, job, running.shape_on(len(on)), on))
        return tuple(placed)

    def _apply(self, jobs: Sequence[RunningJob], placement: Placement, now_s: float) -> None:
        now: dict[str, PlacedWorkers] = {placed.job: placed for placed in placement}
        for job in jobs:
            placed = now.get(job.job.job)
            if job.servers != (placed.servers if placed else ()):
                job.place(placed, now_s, self.settings.restart_s)


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts in descending order: the largest jobs are the hardest to place."""
    some = {job: count for job, count in counts.items() if count}
    return dict(sorted(some.items(), key=lambda row: -row[1]))


def aligned_starts_s(
    placement: Placement, chosen: ChosenPlacement, ready_s: Sequence[float]
) -> tuple[float, ...]:
    """Return the start of each job's next iteration, at the earliest when it is ready.

    Each set of jobs with dependent shifts takes the common moment that minimizes their total wait. If nothing has
    changed, no job waits.

    Parameters
    ----------
    ready_s : sequence of float
        Earliest start of each job of the placement.
    """
    starts_s = list(ready_s)
    periods_s = [
        held or job.profile.iteration_time_s for job, held in zip(placement, chosen.periods_s, strict=True)
    ]
    for jobs in chosen.groups:
        moments_s = [ready_s[job] - chosen.time_shifts_s[job] for job in jobs]
        waits_s = [
            [wait_s(ready_s[job], moment_s + chosen.time_shifts_s[job], periods_s[job]) for job in jobs]
            for moment_s in moments_s
        ]
        least = min(waits_s, key=sum)
        for job, waiting_s in zip(jobs, least, strict=True):
            starts_s[job] += waiting_s
    return tuple(starts_s)


def wait_s(ready_s: float, moment_s: float, period_s: float) -> float:
    """Return the wait for a moment that recurs every period.

    Examples
    --------
    >>> round(wait_s(10.0, 3.25, 0.5), 9), wait_s(10.0, 3.0, 0.5)
    (0.25, 0.0)
    """
    waiting_s = (moment_s - ready_s) % period_s
    return 0.0 if min(waiting_s, period_s - waiting_s) < ON_TIME * period_s else waiting_s


def serving_workers(jobs: Sequence[RunningJob], workers: int, renewed: bool, leases: bool) -> ServingWorkers:
    """Return the workers of served models: in order of arrival, all that they request.

    Parameters
    ----------
    jobs
        All that have come and not gone, in order of arrival.
    renewed
        Whether no training has workers that it keeps.
    leases
        Whether it can be made so.
    """
    served = [job for job in jobs if job.job.serving]
    counts = {job.job.job: len(job.servers) for job in served if job.servers}
    trained = 0 if renewed else sum(len(job.servers) for job in jobs if not job.job.serving)
    left = workers - sum(counts.values())
    ends_leases = False
    for job in served:
        if job.servers:
            continue
        wanted = job.job.servers
        if wanted > left - trained and leases and wanted <= left:
            trained, ends_leases = 0, True
        if wanted > left - trained:
            return ServingWorkers(counts, True, ends_leases)
        counts[job.job.job] = wanted
        left -= wanted
    return ServingWorkers(counts, False, ends_leases)


def candidate_placements(
    network: WorkerNetwork,
    kept: Servers,
    wanted: Mapping[str, int],
    near: bool,
    most: int,
    rng: np.random.Generator,
) -> tuple[Servers, ...]:
    """Return several placements of an allocation.

    Parameters
    ----------
    kept : mapping
        Servers that jobs have already and keep in every placement.
    wanted : mapping
        Additional workers of each job that gets any, in the order in which they are placed in the first placement.
    near : bool
        Whether workers are placed as near to each other as possible; else anywhere.
    most : int
        Most placements to return.

    Returns
    -------
    tuple of mappings
        All jobs with their servers, at least one placement.
    """
    found: dict[tuple[tuple[int, ...], ...], Servers] = {}
    for attempt in range(1 if most == 1 else TRIES * most):
        order = list(wanted)
        if attempt:
            order = [order[index] for index in rng.permutation(len(order)).tolist()]
        placement = _placed(network, kept, wanted, order, near, rng if attempt or not near else None)
        found.setdefault(tuple(placement[job] for job in sorted(placement)), placement)
        if len(found) == most:
            break
    return tuple(found.values())


def _placed(
    network: WorkerNetwork,
    kept: Servers,
    wanted: Mapping[str, int],
    order: Sequence[str],
    near: bool,
    rng: np.random.Generator | None,
) -> Servers:
    free = set(range(network.servers)).difference(*kept.values())
    placement = dict(kept)
    for job in order:
        own = kept.get(job, ())
        if near:
            new = nearest_servers(network, free, wanted[job], own, rng)
        else:
            assert rng is not None
            new = tuple(rng.choice(sorted(free), wanted[job], replace=False).tolist())
        placement[job] = tuple(sorted((*own, *new))) if near else (*own, *new)
        free.difference_update(new)
    return placement


def nearest_servers(
    network: WorkerNetwork,
    free: set[int],
    count: int,
    own: Sequence[int] = (),
    rng: np.random.Generator | None = None,
) -> tuple[int, ...]:
    """Return ``count`` free servers in as few racks and pods as possible.

    The rack or pod with the fewest free servers that suffice is chosen; where none suffices, those with the
    most. A job that has servers grows in their racks and pods first. Ties go to the lowest, or to a random one.

    Examples
    --------
    >>> from topoopt.clusters.scheduling.network import cassini_24
    >>> nearest_servers(cassini_24(), {0, 1, 2, 4, 5, 8, 9, 10, 11}, 3), nearest_servers(cassini_24(), {3, 7, 20}, 2)
    ((0, 1, 2), (3, 7))
    """
    assert len(free) >= count
    racks, pods = network.racks, network.pods
    lot = rng.random(network.servers) if rng is not None else np.zeros(network.servers)
    own_racks, own_pods = {racks[server] for server in own}, {pods[server] for server in own}
    by_rack = _groups(free, racks)
    by_pod = _groups(free, pods)
    chosen: list[int] = []
    while len(chosen) < count:
        need = count - len(chosen)
        pod = min(by_pod, key=lambda pod: (pod not in own_pods, *_fit(by_pod[pod], need), lot[pod], pod))
        inside = {racks[server] for server in by_pod[pod]}
        rack = min(
            inside, key=lambda rack: (rack not in own_racks, *_fit(by_rack[rack], need), lot[-1 - rack], rack)
        )
        taken = sorted(by_rack[rack])[:need]
        chosen += taken
        own_pods, own_racks = own_pods | {pod}, own_racks | {rack}
        for groups, number in ((by_rack, rack), (by_pod, pod)):
            groups[number] = groups[number].difference(taken)
            if not groups[number]:
                del groups[number]
    return tuple(chosen)


def _groups(free: set[int], number_of: Sequence[int]) -> dict[int, set[int]]:
    groups: dict[int, set[int]] = {}
    for server in free:
        groups.setdefault(number_of[server], set()).add(server)
    return groups


def _fit(group: set[int], need: int) -> tuple[bool, int]:
    """Return the sort key of groups: the smallest sufficient ones first, then the largest of the others."""
    enough = len(group) >= need
    return not enough, len(group) if enough else -len(group)
