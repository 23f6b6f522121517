"""Iteration times from plans: every job on every network is a point of a sweep, computed once and kept in its store.

Networks that are planned: exactly those that may be on the front of money and time.

Every network has its price and a lower bound on its time before anything is planned. A network is *dropped* when a
planned one costs no more and is no slower than that; so the front of the planned ones is the front of all.
Networks on the Pareto front of prices and least times are planned first: none of these can be dropped by any other
network, so every search that proves its front has to plan them. Among networks with equal ports the ideal switch
goes first, which is planned quickly: its time is about a lower bound on those of the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from topoopt.base.answers import Progress, fields_of, silent
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import IDEAL_SWITCH
from topoopt.plans import dominates, front
from topoopt.search import is_transformer
from topoopt.studies.choice.decision import DROPPED, LEFT_OUT, PLANNED, Evaluated
from topoopt.studies.choice.job_mix import JobShare, Machines, Mix
from topoopt.studies.choice.network import Money, Network
from topoopt.studies.sweep import Crew, Point, Sweep, make_sweep, open_results, run_sweep, select

NETWORKS_OF_A_ROUND = 4
"""Networks planned at least between updates of the front; constant, for equal results with any processes."""
SAFE = 1.0 - 1e-9
"""Margin on a least time for rounding."""
Wanted = tuple[JobShare, Network]
Timed = float | str
"""Seconds of an iteration, or why there are none."""


class Least(Protocol):
    """Source of lower estimates of iteration times."""

    def at_least_s(self, job: JobShare, network: Network) -> float:
        """Return such a time of the job on the network."""

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        """Return such a time on the ports of an ideal switch, on which the job takes so long."""


class Times(Least, Protocol):
    """Source of iteration times."""

    def plan(self, wanted: Sequence[Wanted]) -> Mapping[Wanted, Timed]:
        """Return the iteration time of each job on each network, or why it cannot be."""


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The grid, and the network that times are compared with."""

    points: tuple[Evaluated, ...]
    reference: Network
    reference_times_s: tuple[float, ...]
    plans: int


class _Work:
    def __init__(self, mix: Mix, usd: Mapping[Network, float], times: Times) -> None:
        self.mix, self.usd, self.times = mix, usd, times
        self.known: dict[Wanted, Timed] = {}
        self.least_s: dict[Wanted, float] = {}
        self.reference = next(iter(usd))
        self.reference_s: tuple[float, ...] = ()

    def plan(self, wanted: Iterable[Wanted]) -> None:
        self.known |= self.times.plan(tuple(wanted))

    def find_reference(self) -> None:
        """Choose the network of most bandwidth on which every job runs; a switch, if any."""
        first = dict.fromkeys(network.timed for network in self.usd)
        order = sorted(first, key=lambda one: (-one.server_bandwidth_bps, one.fabric != IDEAL_SWITCH))
        reasons = []
        for network in order:
            self.plan((job, network) for job in self.mix if (job, network) not in self.known)
            found = [self.known[job, network] for job in self.mix]
            self.reference_s = tuple(time for time in found if not isinstance(time, str))
            if len(self.reference_s) == len(self.mix):
                self.reference = network
                return
            reasons += [str(time) for time in found if isinstance(time, str)]
        raise Infeasible(f"no network of the grid carries every job: {reasons[0]}")

    def next_round(self) -> list[Wanted]:
        """Return the next networks to plan; empty where every other network is dropped."""
        done = [network for network in self.usd if self.is_planned(network)]
        beaten = front(done, self.usd.__getitem__, self.time)
        left = [
            network
            for network in self.usd
            if not self.is_planned(network) and not self.refused(network) and not self.drops(beaten, network)
        ]
        wanted: dict[Wanted, None] = {}
        while left and len(wanted) < NETWORKS_OF_A_ROUND * len(self.mix):
            best = set(front([*left, *beaten], self.usd.__getitem__, self.time))
            taken = dict.fromkeys(self.first_of(one) for one in left if one in best)
            wanted |= {(job, one): None for one in taken for job in self.mix}
            ports = {_ports(one) for one in taken if one.fabric == IDEAL_SWITCH}
            left = [one for one in left if one.timed not in taken and _ports(one) not in ports]
        return [one for one in wanted if one not in self.known]

    def everything(self) -> list[Wanted]:
        """Return everything that is not planned."""
        wanted = dict.fromkeys((job, network.timed) for network in self.usd for job in self.mix)
        return [one for one in wanted if one not in self.known]

    def first_of(self, network: Network) -> Network:
        """Return the network to be planned for another one: the ideal switch of its ports, if that was not planned."""
        switch = Network(IDEAL_SWITCH, network.degree, network.bandwidth_bps)
        tried = all((job, switch) in self.known for job in self.mix)
        return network.timed if tried or switch not in self.usd else switch

    def is_planned(self, network: Network) -> bool:
        return all(isinstance(self.known.get((job, network.timed)), float) for job in self.mix)

    def refused(self, network: Network) -> str:
        """Return the reason why a job cannot run on the network, empty if all can as far as is known."""
        found = [(job, self.known.get((job, network.timed))) for job in self.mix]
        return next((f"{job.name}: {time}" for job, time in found if isinstance(time, str)), "")

    def drops(self, planned: Iterable[Network], network: Network) -> Network | None:
        """Return the planned network that costs no more and is no slower than this one can be."""
        here = self.usd[network], self.time(network)
        return next((one for one in planned if dominates((self.usd[one], self.time(one)), here)), None)

    def time(self, network: Network) -> float:
        """Return the relative time, or the least that it can be."""
        relative = zip(self.mix, self.times_s(network), self.reference_s, strict=True)
        return sum(job.share * time / reference for job, time, reference in relative)

    def times_s(self, network: Network) -> tuple[float, ...]:
        return tuple(self.time_s(job, network.timed) for job in self.mix)

    def time_s(self, job: JobShare, network: Network) -> float:
        time = self.known.get((job, network))
        if isinstance(time, float):
            return time
        if (job, network) not in self.least_s:
            self.least_s[job, network] = SAFE * self.times.at_least_s(job, network)
        least_s = self.least_s[job, network]
        switch_s = self.known.get((job, Network(IDEAL_SWITCH, network.degree, network.bandwidth_bps)))
        return (
            max(least_s, self.times.beside_switch_s(job, switch_s))
            if isinstance(switch_s, float)
            else least_s
        )

    def evaluated(self, network: Network, money: Money | str) -> Evaluated:
        known = None if isinstance(money, str) else money
        if known is None or network not in self.usd:
            return Evaluated(network, known, LEFT_OUT, _why_unpriced(money), (), ())
        reason, status = self.refused(network), ""
        if reason:
            return Evaluated(network, known, LEFT_OUT, reason, (), ())
        times_s = self.times_s(network)
        if self.is_planned(network):
            status = PLANNED
        else:
            done = [one for one in self.usd if self.is_planned(one)]
            by = self.drops(front(done, self.usd.__getitem__, self.time), network)
            assert by is not None, f"{network.name} is neither planned nor dropped"
            status, reason = DROPPED, f"{by.name} costs no more and is no slower than it can be"
        relative = tuple(time / one for time, one in zip(times_s, self.reference_s, strict=True))
        return Evaluated(network, known, status, reason, times_s, relative)


OK = "ok"


@dataclass(frozen=True, slots=True)
class Store:
    """Storage of plans, and the crew that makes them.

    Attributes
    ----------
    file : str
        A results file of sweeps; plans in it are not computed again.
    mix_versions : bool
        Whether plans of another version of topoopt are reused from the file.
    """

    file: str
    crew: Crew
    on_progress: Progress = silent
    mix_versions: bool = False


@dataclass(frozen=True, slots=True)
class SweptTimes:
    """Times of plans, made by a crew and kept in a results file; make one with :func:`swept_times`.

    Attributes
    ----------
    points : mapping
        The point of each job on each network.
    folders : mapping
        Folder of each job's files.
    least : Least
        Source of lower estimates.
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
        with open_results(self.store.file) as opened:
            rows = select(opened, ("digest", "status", "error", "iteration_time_s")).rows
        found = {
            str(digest): float(time_s) if status == OK else str(error)
            for digest, status, error, time_s in rows
        }
        return {one: found[self.points[one].digest] for one in wanted}

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


def swept_times(
    mix: Mix,
    networks: Sequence[Network],
    machines: Machines,
    search: Mapping[str, Any],
    store: Store,
    least: Least,
) -> SweptTimes:
    """Return the source of a mix's times on networks.

    Parameters
    ----------
    search
        Keys of a sweep file for the search over operators, such as ``budget``.

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
    options = {} if is_transformer(machines.request(job)) else search
    document = {
        "models": job.job,
        "servers": machines.of(job),
        "degree": sorted({one.degree for one in networks}),
        "bandwidth": [_text(bps) for bps in sorted({one.bandwidth_bps for one in networks})],
        "fabrics": list(dict.fromkeys(one.fabric for one in networks)),
        **fields_of(machines, "accelerator", "accelerators_per_server"),
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


def _ports(network: Network) -> tuple[int, float]:
    return network.degree, network.bandwidth_bps


def explore(
    mix: Mix,
    priced: Mapping[Network, Money | str],
    times: Times,
    on_progress: Progress = silent,
    *,
    exact: bool = False,
) -> Explored:
    """Return every network, planned, dropped or left out.

    Parameters
    ----------
    priced
        Networks with their money, or why they have no price.
    exact
        Whether every network is planned that has a price, and none dropped.

    Raises
    ------
    Infeasible
        If no network has a price, or none can carry all jobs.
    """
    usd = {
        network: money.total_usd
        for network, money in priced.items()
        if isinstance(money, Money) and money.total_usd is not None
    }
    if not usd:
        raise Infeasible(f"no network of the grid has a price: {_why_unpriced(next(iter(priced.values())))}")
    work = _Work(mix, usd, times)
    work.find_reference()
    while wanted := work.everything() if exact else work.next_round():
        on_progress("planning what may be on the front", len(work.known), len(work.known) + len(wanted))
        work.plan(wanted)
    points = tuple(work.evaluated(network, money) for network, money in priced.items())
    return Explored(points, work.reference, work.reference_s, len(work.known))


def _why_unpriced(money: Money | str) -> str:
    return money if isinstance(money, str) else f"nobody's figure is known of {', '.join(money.unknown)}"
