"""``topoopt simulate``: a plan once more, or an authors' task graph, at a fidelity and on a fabric of choice."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.simulation_arguments import FabricArguments, FileArguments, PacketArguments
from topoopt.cli.spread import spread
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.cli.progress import Progress
    from topoopt.cli.simulation_run import Ran
    from topoopt.cli.simulation_source import Source
    from topoopt.routing import Fabric
    from topoopt.simulate import FlexNetGraph, Placement

STEADY_ITERATIONS = 4
SIMULATOR_HELP = (
    "analytic: first come, first served on each link, quick. flow: fair shares over time. "
    "packet: every packet through every queue."
)
COLLECTIVES_METAVAR = (
    "stepped|bulk|ring|multi-ring|tree|halving-doubling|hierarchical|parameter-server|pairwise|auto"
)
COLLECTIVES_HELP = (
    "bulk: one flow for all rounds (FlexNet's way). ring is stepped; the others play an AllReduce, pairwise an "
    "all-to-all, transfer by transfer. auto: by group and size, the quickest in closed form on the fabric's paths."
)
MOST_LOGGED = 300_000
"""Connections up to which each one is kept for percentiles, without --flows; more would take memory for little."""


@spread
def simulate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="PLAN|GRAPH.fbuf[.xz]...",
            show_default=False,
            help="A file of topoopt plan --out, or a FlexNet task graph; several run at once, as jobs on one fabric.",
        ),
    ],
    fabric: FabricArguments,
    packets: PacketArguments,
    files: FileArguments,
    simulator: Annotated[
        str | None,
        typer.Option(
            metavar="packet|flow|analytic|auto",
            help=f"{SIMULATOR_HELP} auto: analytic where nothing contends, else flow, with the error to expect. "
            "If not given: packet for a .fbuf or with a flag about packets, auto for a plan.",
        ),
    ] = None,
    steady_state: Annotated[
        bool,
        typer.Option(
            "--steady-state",
            help=f"Of {STEADY_ITERATIONS} iterations of a plan that overlap, the mean of those in the middle.",
        ),
    ] = False,
    collective: Annotated[
        str,
        typer.Option(
            metavar=COLLECTIVES_METAVAR,
            help=f"stepped: rings in rounds that wait for each other. {COLLECTIVES_HELP}",
        ),
    ] = "stepped",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", help="Of all chance: paths, equal ready times, wiring. Equal seeds, equal bytes."
        ),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with what every link carried.")
    ] = False,
) -> None:
    """Simulate a plan or a task graph. Bytes are those of one iteration, also in the steady state."""
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json
    from topoopt.cli.simulation_document import document
    from topoopt.cli.simulation_files import check_files, write_files
    from topoopt.cli.simulation_options import chosen_simulator
    from topoopt.cli.simulation_report import print_simulation
    from topoopt.cli.simulation_source import is_fbuf, read_source

    check_files(files, sources)
    used = chosen_simulator(simulator, packets, all(is_fbuf(path) for path in sources))
    iterations = STEADY_ITERATIONS if steady_state else 1
    with progress("simulating") as report:
        report("reading", 0, 0)
        jobs = [read_source(path, iterations) for path in sources]
        ran, flexnet = _run(jobs, fabric, packets, files, used, (collective, seed, iterations), report)
    write_files(ran, files, flexnet)
    if as_json:
        print_json(document(ran))
    else:
        print_simulation(ran)


def _run(
    jobs: "list[Source]",
    asked: FabricArguments,
    packets: PacketArguments,
    files: FileArguments,
    simulator: str,
    settings: tuple[str, int, int],
    report: "Progress",
) -> "tuple[Ran, FlexNetGraph | None]":
    """Lay out the fabric and simulate; return the simulation, and its task graph where a file shall hold it."""
    from dataclasses import replace

    from topoopt.cli.simulation_options import link_failures, simulation_options
    from topoopt.cli.simulation_run import run_job, run_jobs

    collective, seed, iterations = settings
    options = simulation_options(simulator, packets, collective, seed, log_flows=False)
    switches = simulator == "packet" or packets.path_choice is not None
    laid, placement = _fabric(jobs, asked, seed, switches)
    logged = files.flows is not None or _connections(jobs, laid) <= MOST_LOGGED
    failures = link_failures(packets.fail_link, laid.topology)
    options = replace(options, packet=replace(options.packet, log_flows=logged, failures=failures))
    flexnet = _flexnet(jobs, laid, files)
    if len(jobs) > 1:
        return run_jobs(jobs, laid, placement, simulator, options, report), flexnet
    return run_job(jobs[0], laid, simulator, options, iterations, report), flexnet


def _fabric(
    jobs: "list[Source]", asked: FabricArguments, seed: int, switches: bool
) -> "tuple[Fabric, Placement]":
    """Return the fabric and the servers of each job; a job that is alone has the first ones."""
    from topoopt.cli.simulation_fabric import named_fabric, own_fabric
    from topoopt.simulate import place_jobs, placed_groups

    sizes = [job.graph.servers for job in jobs]
    first = (tuple(range(sizes[0])),)
    if len(jobs) == 1:
        if asked.placement is not None:
            raise InvalidInput("--placement: is for several jobs; one job has the first servers")
        own = own_fabric(jobs[0], asked)
        if own is not None:
            return own, first
        return named_fabric(jobs, jobs[0].graph.groups, asked, seed, switches), first
    servers = sum(sizes) if asked.servers is None else asked.servers
    placement = place_jobs(sizes, servers, "contiguous" if asked.placement is None else asked.placement, seed)
    groups = placed_groups([job.graph for job in jobs], placement)
    return named_fabric(jobs, groups, asked, seed, switches), placement


def _connections(jobs: "list[Source]", fabric: "Fabric") -> int:
    """Return about how many connections one run opens: one for each transfer, ring, round and member."""
    import numpy as np

    rings = max((len(found) for found in fabric.rings.values()), default=1)
    return sum(
        len(job.graph) + int((2 * np.diff(job.graph.member_first).astype(np.float64) ** 2).sum()) * rings
        for job in jobs
    )


def _flexnet(jobs: "list[Source]", fabric: "Fabric", files: FileArguments) -> "FlexNetGraph | None":
    from topoopt.simulate import flexnet_graph

    if files.write_fbuf is None:
        return None
    if len(jobs) > 1:
        raise InvalidInput("--write-fbuf: a .fbuf holds one job; write each one on its own")
    return flexnet_graph(jobs[0].graph, fabric, jobs[0].path, files.drop_rings)
