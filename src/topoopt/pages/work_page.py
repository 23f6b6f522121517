"""What the page of a plan says of one kind of work, and of that only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.base.units import format_bandwidth, format_time
from topoopt.catalog import ClusterSpec
from topoopt.pages.chart import TimelineChart
from topoopt.pages.page import Block, Section, Tile
from topoopt.pages.plan_time import busiest_server, iteration_timeline
from topoopt.pages.rows import Entries
from topoopt.pages.words import counted
from topoopt.plans import Plan
from topoopt.simulation import SimResult
from topoopt.workloads.strategy import ParallelStrategy


def compute_fact(plan: Plan) -> Entries:
    """Return the time of an iteration with free communication, all of it computation."""
    return {"compute": format_time(plan.outcome.compute_time_s)}


def _nothing(plan: Plan) -> tuple[()]:
    return ()


def _no_entries(plan: Plan) -> Entries:
    return {}


def _no_waits(plan: Plan, strategy: ParallelStrategy) -> Mapping[str, float]:
    return {}


def _busiest_timeline(plan: Plan, result: SimResult) -> TimelineChart:
    return iteration_timeline(result, busiest_server(result))


@dataclass(frozen=True, slots=True)
class WorkPage:
    """The parts of a page that differ between kinds of work.

    Attributes
    ----------
    job : function
        What is trained, on what cluster, and what its times rest on.
    search : function
        How the search went.
    made_by : function
        What is needed to make the plan again.
    sections : function
        How the work is split.
    details : function
        What a browser has room for in the section of the strategy.
    rates, tiles : functions
        What is reached, beside the iteration time.
    compute : function
        What the iteration takes with free communication, by cause.
    waits : function
        The seconds of that with a strategy in which nothing is computed, by cause.
    timeline : function
        What happens when in an iteration that was simulated.
    free : str
        What that time is, as the first of the lower bounds.
    compared : str
        What the fabrics of a comparison were given.
    plain : str
        The unsearched strategy, as the subject of a sentence.
    """

    job: Callable[[Plan], Entries]
    search: Callable[[Plan], Entries]
    made_by: Callable[[Plan], Entries]
    sections: Callable[[Plan], tuple[Section, ...]] = _nothing
    details: Callable[[Plan], tuple[Block, ...]] = _nothing
    rates: Callable[[Plan], Entries] = _no_entries
    tiles: Callable[[Plan], tuple[Tile, ...]] = _nothing
    compute: Callable[[Plan], Entries] = compute_fact
    waits: Callable[[Plan, ParallelStrategy], Mapping[str, float]] = _no_waits
    timeline: Callable[[Plan, SimResult], TimelineChart] = _busiest_timeline
    free: str = "free communication"
    compared: str = ""
    plain: str = "Data parallelism with round-robin tables"


def cluster_words(cluster: ClusterSpec) -> str:
    """Return servers, accelerators and ports."""
    return (
        f"{cluster.servers} servers of {cluster.accelerators_per_server} × {cluster.accelerator}, "
        f"{counted(cluster.degree, f'{cluster.links} port')} of {format_bandwidth(cluster.link_bandwidth_bps)}"
    )


def spread_words(plan: Plan) -> str:
    """Return by how much the worst answer of a search is slower than the best."""
    times = sorted(plan.search.seed_times_s)
    return f", the worst {times[-1] / times[0] - 1:.2%} slower" if len(times) > 1 else ""
