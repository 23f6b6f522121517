"""What a scheduler decides when jobs come and go or leases are over: workers, servers, and starts of iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.clusters.scheduled.alignment import aligned_starts_s
from topoopt.clusters.scheduled.candidates import (
    MOST_CANDIDATES,
    Servers,
    candidate_placements,
    nearest_servers,
)
from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.clusters.scheduled.placement import ChosenPlacement, Interleaver, PlacedWorkers, Placement
from topoopt.clusters.scheduled.running_job import RunningJob
from topoopt.clusters.scheduled.serving_workers import ServingWorkers, serving_workers
from topoopt.clusters.scheduled.settings import ScheduleSettings
from topoopt.clusters.scheduled.worker_job import placed_workers
from topoopt.clusters.schedulers.table import SCHEDULERS


@dataclass(frozen=True, eq=False)
class Deciding:
    """Who decides, and on what.

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
        """Give workers to the jobs that have come and not ended, and say when they go on.

        Parameters
        ----------
        jobs : sequence of RunningJob
            In order of arrival; changed.
        renewed : bool
            Whether all leases are over.

        Returns
        -------
        tuple of ChosenPlacement
            With CASSINI, if somebody runs.
        """
        services = serving_workers(
            jobs, self.network.servers, renewed, SCHEDULERS[self.settings.scheduler].leases
        )
        renewed = renewed or services.ends_leases
        counts = {**services.counts, **self._counts(jobs, now_s, renewed, services)}
        by_name = {job.job.job: job for job in jobs}
        candidates = self._candidates(by_name, counts, renewed)
        placements = [self._placement(by_name, servers) for servers in candidates]
        choices = [
            chooser(placements, self.network.capacities_bps) for chooser in self.interleavers if counts
        ]
        placement = placements[choices[0].candidate if choices else 0]
        self._apply(jobs, placement, now_s)
        for chosen in choices:
            self._align(by_name, placement, chosen)
        return tuple(choices)

    def _counts(
        self, jobs: Sequence[RunningJob], now_s: float, renewed: bool, services: ServingWorkers
    ) -> dict[str, int]:
        """Return how many workers each training job has from now on, of those that have any.

        While a model waits to be served, who keeps workers keeps them, and nobody gets more.
        """
        claims = [job.claim(0 if renewed else len(job.servers)) for job in jobs if not job.job.serving]
        taken = sum(claim.held for claim in claims) + sum(services.counts.values())
        scheduler = SCHEDULERS[self.settings.scheduler]
        given: Sequence[int] = [0] * len(claims)
        if scheduler.leases or not services.waiting:
            given = scheduler.allocate(claims, self.network.servers - taken, now_s, self.settings.epoch_s)
        counts = {claim.job: claim.held + more for claim, more in zip(claims, given, strict=True)}
        return {job: count for job, count in counts.items() if count}

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

    def _align(
        self, by_name: Mapping[str, RunningJob], placement: Placement, chosen: ChosenPlacement
    ) -> None:
        ready_s = [by_name[placed.job].next_start_s for placed in placement]
        starts_s = aligned_starts_s(placement, chosen, ready_s)
        group_of = {job: number for number, jobs in enumerate(chosen.groups) for job in jobs}
        for place, (placed, start_s) in enumerate(zip(placement, starts_s, strict=True)):
            job = by_name[placed.job]
            job.wait(start_s)
            job.slot_s, job.group = chosen.periods_s[place], group_of.get(place)


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    """Return who gets workers, the most first: the large ones are the hardest to place."""
    some = {job: count for job, count in counts.items() if count}
    return dict(sorted(some.items(), key=lambda row: -row[1]))
