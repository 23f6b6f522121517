"""A trace of jobs on a cluster as a page."""

from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters import ClusterResult, FabricRun
from topoopt.pages.cluster_charts import (
    completion_times,
    iteration_times,
    job_times,
    occupancy,
    queueing_times,
    servers_busy,
    utilization,
    waiting_shares,
)
from topoopt.pages.cluster_tables import cluster_blocks, job_table, quantiles_table
from topoopt.pages.facts import inputs, nested_facts, trust_section
from topoopt.pages.page import Facts, Page, Section, Tile
from topoopt.pages.rows import facts
from topoopt.pages.run_names import run_name
from topoopt.pages.schedule_charts import schedule_charts
from topoopt.pages.words import counted, duration, usd


def cluster_page(result: ClusterResult) -> Page:
    """Return everything that there is to say about a trace on one or more fabrics."""
    jobs = len(result.fabrics[0].jobs) if result.fabrics else 0
    cluster = f"{result.degree} × {format_bandwidth(result.bandwidth_bps)}"
    return Page(
        "cluster",
        result.trace,
        headline(result),
        _tiles(result),
        sections=(
            Section("cluster", "The cluster", "", cluster_blocks(result)),
            _iterations(result),
            _waiting(result),
            _occupancy(result),
            _jobs(result),
            _trust(result),
        ),
        key_numbers=_key_numbers(result),
        remark=f"{counted(jobs, 'job')} on {result.servers} servers, {cluster}",
        answer_first=True,
    )


def headline(result: ClusterResult) -> str:
    """Return the answer: iteration times of the first fabric and by how much the others are slower."""
    if not result.fabrics:
        return "No fabric could be built for this trace."
    own, others = result.fabrics[0], result.fabrics[1:]
    sentences = [
        f"{_by(own).capitalize()} {_short(own)} an iteration takes {format_time(own.iteration_time_s.mean)} on average "
        f"and {format_time(own.iteration_time_s.p99)} at the 99th percentile; "
        f"{own.utilization:.0%} of the server time is spent iterating{_price(own)}."
    ]
    ratios = [
        f"{other.iteration_time_s.mean / own.iteration_time_s.mean:.2f} × and "
        f"{other.iteration_time_s.p99 / own.iteration_time_s.p99:.2f} × {_by(other)} {run_name(other)}"
        for other in others
    ]
    if ratios:
        sentences.append(f"Average and tail elsewhere: {'; '.join(ratios)}.")
    return " ".join(sentences)


def _price(run: FabricRun) -> str:
    """Return what the network costs, and which fabrics beat it in price and mean iteration time."""
    if run.cost_usd is None:
        return ""
    beaten = f", beaten in price and mean time by {', '.join(run.dominated_by)}" if run.dominated_by else ""
    return f", on a network of {usd(run.cost_usd)}{beaten}"


def _by(run: FabricRun) -> str:
    return "with" if run.schedule else "on"


def _short(run: FabricRun) -> str:
    """Return what a run is called where it is the first one."""
    return run_name(run) if run.schedule else run.fabric


def _tiles(result: ClusterResult) -> tuple[Tile, ...]:
    if not result.fabrics:
        return ()
    own = result.fabrics[0]
    return (
        Tile(
            "Average iteration",
            format_time(own.iteration_time_s.mean),
            run_name(own) if own.schedule else own.fabric,
        ),
        Tile("99th percentile", format_time(own.iteration_time_s.p99), "of the iteration times"),
        Tile("Average completion", duration(own.completion_time_s.mean), "from arrival to end"),
        Tile("Average queueing", duration(own.queueing_s.mean), f"at most {duration(own.queueing_s.max)}"),
        Tile("Utilization", f"{own.utilization:.1%}", "of the server time"),
        Tile(
            "Workers moved" if own.schedule else "Fibers moved",
            f"{own.moves:,}",
            f"for {counted(len(own.jobs), 'job')}",
        ),
    )


def _key_numbers(result: ClusterResult) -> dict[str, float | None]:
    if not result.fabrics:
        return {}
    own = result.fabrics[0]
    return {
        "iteration_time_mean_s": own.iteration_time_s.mean,
        "iteration_time_p99_s": own.iteration_time_s.p99,
        "completion_time_mean_s": own.completion_time_s.mean,
        "queueing_mean_s": own.queueing_s.mean,
        "queueing_max_s": own.queueing_s.max,
        "utilization": own.utilization,
        "moves": own.moves,
    }


def _iterations(result: ClusterResult) -> Section:
    return Section(
        "iterations",
        "Iteration times",
        "Isolated jobs have the same iteration time at every load; jobs that share links slow each other down. "
        "The further left a line, the faster.",
        (iteration_times(result), job_times(result), *schedule_charts(result), quantiles_table(result)),
    )


def _waiting(result: ClusterResult) -> Section:
    return Section(
        "waiting",
        "Completion and waiting",
        "How long jobs take from arrival to end, and how much of that they wait for servers and for wiring.",
        (completion_times(result), queueing_times(result), waiting_shares(result), utilization(result)),
    )


def _occupancy(result: ClusterResult) -> Section:
    caption = "Servers from top to bottom, time from left to right; every block is a job on its servers."
    charts = [occupancy(number, run, result.servers) for number, run in enumerate(result.fabrics, 1)]
    return Section("occupancy", "Occupancy over time", caption, (servers_busy(result), *charts))


def _jobs(result: ClusterResult) -> Section:
    tables = tuple(map(job_table, result.fabrics))
    return Section("jobs", "Every job", "Times of every job on each fabric, in order of arrival.", tables)


def _trust(result: ClusterResult) -> Section:
    made = result.provenance
    return trust_section(
        "result",
        facts(
            {"topoopt": made.version, "seed": str(result.seed), "trace": result.trace, **inputs(made)},
            "Made by",
        ),
        Facts("Fabrics", tuple((run_name(run), run.description) for run in result.fabrics)),
        *nested_facts("Settings", result.settings),
    )
