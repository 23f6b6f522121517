"""Iteration times from plans: every job on every network is a point of a sweep, computed once and kept in its store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import largest_degree
from topoopt.search import is_transformer
from topoopt.studies.choice.explore import Least, Progress, Timed, Wanted
from topoopt.studies.choice.machines import Machines
from topoopt.studies.choice.mix import JobShare, Mix
from topoopt.studies.choice.network import Network
from topoopt.studies.sweep import Crew, Point, Sweep, make_sweep, open_results, run_sweep, select

OK = "ok"
TOO_MANY = "its servers cannot use so many ports"


@dataclass(frozen=True, slots=True)
class Store:
    """Where plans are kept, and who makes them.

    Attributes
    ----------
    file : str
        A results file of sweeps; what is in there is not computed again.
    mix_versions : bool
        Whether plans of another version of topoopt are taken from the file.
    """

    file: str
    crew: Crew
    on_progress: Progress = lambda stage, done, total: None
    mix_versions: bool = False


@dataclass(frozen=True, slots=True)
class SweptTimes:
    """Times of plans, made by a crew and kept in a results file; make one with :func:`swept_times`.

    Attributes
    ----------
    points : mapping
        The point of each job on each network.
    folders : mapping
        Where the files of each job lie.
    least : Least
        Who knows times that no plan beats.
    """

    points: Mapping[Wanted, Point]
    folders: Mapping[JobShare, str]
    store: Store
    least: Least

    def at_least_s(self, job: JobShare, network: Network) -> float:
        """Return a time that no plan of the job on the network beats."""
        return self.least.at_least_s(job, network)

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        """Return a time that hardly a plan beats on the ports of an ideal switch, on which the job takes so long."""
        return self.least.beside_switch_s(job, switch_s)

    def plan(self, wanted: Sequence[Wanted]) -> dict[Wanted, Timed]:
        """Return the iteration time of each job on each network, or why it cannot be."""
        known = [one for one in wanted if one in self.points]
        by_folder = sorted(known, key=lambda one: self.folders[one[0]])
        for folder, group in groupby(by_folder, key=lambda one: self.folders[one[0]]):
            points = tuple(self.points[one] for one in group)
            sweep = Sweep("choose", "", folder, {}, points)
            run_sweep(
                sweep,
                self.store.file,
                self.store.crew,
                on_progress=self.store.on_progress,
                mix_versions=self.store.mix_versions,
            )
        found = self._stored()
        return {one: found[self.points[one].digest] if one in self.points else TOO_MANY for one in wanted}

    def sizes(self, mix: Mix) -> tuple[tuple[float, float | None], ...]:
        """Return the samples of an iteration of each job, and its tokens where it has some."""
        with open_results(self.store.file) as opened:
            rows = select(opened, ("digest", "global_batch", "sequence"), where="status = 'ok'").rows
        known = {str(digest): (batch, sequence) for digest, batch, sequence in rows}
        found = []
        for job in mix:
            of_job = (known.get(point.digest) for (one, _), point in self.points.items() if one == job)
            batch, sequence = next(row for row in of_job if row is not None)
            found.append((float(batch), float(batch) * sequence if sequence else None))
        return tuple(found)

    def _stored(self) -> dict[str, Timed]:
        with open_results(self.store.file) as opened:
            rows = select(opened, ("digest", "status", "error", "iteration_time_s")).rows
        return {
            str(digest): float(time_s) if status == OK else str(error)
            for digest, status, error, time_s in rows
        }


def swept_times(
    mix: Mix,
    networks: Sequence[Network],
    machines: Machines,
    search: Mapping[str, Any],
    store: Store,
    least: Least,
) -> SweptTimes:
    """Return who knows the times of a mix on networks.

    Parameters
    ----------
    search
        Keys of a sweep file that say how to search over operators, such as ``budget``.

    Raises
    ------
    InvalidInput
        For an unknown model, a job file that is wrong, or a job of more servers than there are.
    """
    timed = tuple(dict.fromkeys(network.timed for network in networks))
    points: dict[Wanted, Point] = {}
    for job in mix:
        sweep = _sweep(job, timed, machines, search)
        known = {(one.fabric, one.degree, one.bandwidth_bps): one for one in sweep.points}
        points |= {
            (job, one): known[one.fabric, one.degree, one.bandwidth_bps]
            for one in timed
            if (one.fabric, one.degree, one.bandwidth_bps) in known
        }
    folders = {job: str(Path(job.folder).resolve()) for job in mix}
    return SweptTimes(points, folders, store, least)


def _sweep(
    job: JobShare, networks: Sequence[Network], machines: Machines, search: Mapping[str, Any]
) -> Sweep:
    """Return the sweep of a job over networks; without those that have more ports than its servers can use."""
    servers = machines.of(job)
    most = largest_degree(servers)
    options = {} if is_transformer(machines.request(job)) else search
    document = {
        "models": job.job,
        "servers": servers,
        "degree": sorted({one.degree for one in networks if one.degree <= most}),
        "bandwidth": [_text(bps) for bps in sorted({one.bandwidth_bps for one in networks})],
        "fabrics": list(dict.fromkeys(one.fabric for one in networks)),
        "accelerator": machines.accelerator,
        "accelerators_per_server": machines.accelerators_per_server,
        "intra_server_bandwidth": _text(machines.intra_server_bandwidth_bps),
        **options,
    }
    try:
        return make_sweep(document, Path(job.folder).resolve(), "choose", "")
    except InvalidInput as error:
        raise InvalidInput(str(error).removeprefix("choose: ").removeprefix("models: ")) from None


def _text(bandwidth_bps: float) -> str:
    """Return a bandwidth as a sweep file has it, to the last digit."""
    return f"{bandwidth_bps / 1e9!r} Gbps"
