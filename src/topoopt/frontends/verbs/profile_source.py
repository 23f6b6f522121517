"""Communication profiles from any source: a profile, a job file, counters, or a job to simulate."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topoopt.base.errors import InvalidInput, check_known
from topoopt.clusters.interleave import (
    CommunicationProfile,
    Ends,
    JobPhases,
    MeasuredProfile,
    busiest_uplink,
    measured_profile,
    profiles_of_links,
    read_counters,
    read_profile,
)
from topoopt.frontends.verbs.input_sources import is_plan_file
from topoopt.frontends.verbs.simulate import simulate
from topoopt.jobs import expecting
from topoopt.plans import Plan
from topoopt.simulation import SIMULATORS, Simulation, is_chakra, is_fbuf
from topoopt.workloads.recorded import is_simai_workload

ProfileSource = CommunicationProfile | Plan | Simulation | str | os.PathLike[str]
"""A profile or its job file, a plan, a simulation, or the file of a plan, of a task graph or of counters (``.csv``)."""

ALL = "all"
SMALL = 0.01
"""Fraction of the busiest link's bytes: links below it carry acknowledgments only, and get no profile."""


@dataclass(frozen=True, slots=True)
class HowProfiled:
    """Method for finding a profile that is not given; see :class:`topoopt.schema.words.PhasesWords`."""

    simulator: str = "flow"
    link: str | None = None
    steady_state: bool = False
    iteration_time_s: float | None = None
    tolerance: float = 0.02
    name: str | None = None

    def __post_init__(self) -> None:
        check_known("simulator", self.simulator, SIMULATORS)
        if not 0 <= self.tolerance < 1:
            raise InvalidInput(f"tolerance: must be in 0 <= tolerance < 1, got {self.tolerance:g}")
        if self.iteration_time_s is not None and not 0 < self.iteration_time_s < float("inf"):
            raise InvalidInput(f"iteration_time: expected a time > 0, got {self.iteration_time_s:g} s")


USUAL = HowProfiled()


def profiles_of_sources(
    sources: Sequence[ProfileSource], how: HowProfiled = USUAL
) -> tuple[CommunicationProfile, ...]:
    """Return the profiles of several jobs, each of its busiest link; errors as :func:`phases_of_source`."""
    return tuple(profile_of_source(source, how) for source in sources)


def profile_of_source(source: ProfileSource, how: HowProfiled = USUAL) -> CommunicationProfile:
    """Return the profile of a job, of its busiest link; errors as :func:`phases_of_source`."""
    return phases_of_source(source, how).profile


def phases_of_source(source: ProfileSource, how: HowProfiled = USUAL) -> JobPhases:
    """Return the phases of a job on its links in one iteration.

    Raises
    ------
    InvalidInput
        If the file is none of these; for mistakes in it, with the key, the line or the job; for a link that is not
        there, and counters without a period.
    """
    if isinstance(source, CommunicationProfile):
        return JobPhases({"": _named(source, how)}, "profile", source.job, {})
    if isinstance(source, Simulation):
        return _of_simulation(source, how)
    if isinstance(source, Plan):
        return _of_simulation(_simulated(source, how), how)
    path = os.fspath(source)
    if not path:
        raise InvalidInput("JOB: expected a file name, got nothing")
    if path.lower().endswith(".csv"):
        with expecting(path, "counters"):
            return _of_counters(path, how)
    if is_fbuf(path) or is_chakra(path) or is_simai_workload(path) or is_plan_file(path):
        return _of_simulation(_simulated(path, how), how)
    with expecting(path, "job-profile"):
        return JobPhases({"": _named(read_profile(path), how)}, "job file", path, {})


def _named(profile: CommunicationProfile, how: HowProfiled) -> CommunicationProfile:
    if how.link is not None:
        raise InvalidInput(f"link: a job file says one link; leave {how.link} out")
    if how.name is None:
        return profile
    return CommunicationProfile(how.name, profile.iteration_time_s, profile.phases)


def _simulated(source: Plan | str, how: HowProfiled) -> Simulation:
    return simulate(source, simulator=how.simulator, steady_state=how.steady_state, log_flows=False)


def _of_simulation(simulation: Simulation, how: HowProfiled) -> JobPhases:
    result, fabric = simulation.result, simulation.fabric
    if how.iteration_time_s is not None:
        raise InvalidInput("iteration_time: is for counters; a simulation has its own; leave it out")
    if len(simulation.jobs) > 1:
        raise InvalidInput("JOB: a profile is of one job alone; simulate each one on its own")
    if how.link == ALL:
        topology = fabric.topology
        carrying = np.flatnonzero(result.link_bytes)
        by_time = np.argsort(-(result.link_bytes / topology.bandwidth_bps)[carrying], kind="stable")
        links = [(int(topology.src[link]), int(topology.dst[link])) for link in carrying[by_time]]
    else:
        links = [busiest_uplink(result, fabric) if how.link is None else _ends(how.link)]
    if not links:
        raise InvalidInput("link: the job sends nothing; a job on one server needs no link")
    name = how.name or simulation.name
    profiles = profiles_of_links(name, result, fabric, links, how.tolerance)
    named = {f"{src}-{dst}": profile for (src, dst), profile in profiles.items()}
    return JobPhases(named, result.simulator, simulation.jobs[0].path, {})


def _ends(link: str) -> Ends:
    ends = link.split("-")
    if len(ends) != 2 or not all(end.strip().isdecimal() and len(end) < 10 for end in ends):
        raise InvalidInput(f'link: expected two nodes such as 0-1, or all, got "{link}"')
    return int(ends[0]), int(ends[1])


def _of_counters(path: str, how: HowProfiled) -> JobPhases:
    """Return the profile from counters of one link, or of all with at least 1 % of the busiest one's bytes."""
    if how.simulator != USUAL.simulator:
        raise InvalidInput("simulator: counters are measured and not simulated; leave it out")
    curves = read_counters(path)
    sent = {link: float(curve.sent_bytes[-1] - curve.sent_bytes[0]) for link, curve in curves.items()}
    order = sorted(curves, key=lambda link: -sent[link])
    if how.link not in (None, ALL):
        check_known(f"{path}: link", str(how.link), curves)
        order = [str(how.link)]
    elif how.link is None:
        order = order[:1]
    else:
        order = [link for link in order if sent[link] > SMALL * sent[order[0]]] or order[:1]
    found: dict[str, MeasuredProfile] = {}
    period_s = how.iteration_time_s
    for link in order:
        place = f"{path}: link {link}" if link else path
        job = how.name or Path(path).stem
        found[link] = measured_profile(job, curves[link], period_s, how.tolerance, place)
        period_s = period_s or found[link].profile.iteration_time_s
    return JobPhases({link: row.profile for link, row in found.items()}, "counters", path, found)
