"""``topoopt compare``: the same job on other fabrics."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.plan import FABRICS_HELP, PRICES_HELP, listed
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.simulate import SIMULATOR_HELP
from topoopt.cli.spread import spread
from topoopt.errors import unknown_name

if TYPE_CHECKING:
    from topoopt.plan import Outcome, Plan
    from topoopt.simulate import SimulationOptions

OWN = "topoopt"


@spread
def compare(
    job: JobArguments,
    finder: FinderArguments,
    search: SearchArguments,
    fabrics: Annotated[
        str | None, typer.Option(metavar="LIST", help=f"{FABRICS_HELP} All but the last if not given.")
    ] = None,
    simulator: Annotated[str, typer.Option(metavar="analytic|flow", help=SIMULATOR_HELP)] = "analytic",
    collective: Annotated[
        str,
        typer.Option(metavar="stepped|bulk", help="Rings in rounds, or one flow for all (FlexNet's way)."),
    ] = "stepped",
    prices: Annotated[str, typer.Option(metavar="2022|2025|FILE", help=PRICES_HELP)] = "2022",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put the same job on other fabrics, each with a strategy searched for it."""
    from topoopt.cli.baseline_table import fabric_rows, print_fabrics, print_skipped
    from topoopt.cli.planned import plan_from_file, plan_now
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, print_title, terminal
    from topoopt.cost import find_prices
    from topoopt.search import compare as compared
    from topoopt.search import starting_strategy
    from topoopt.simulate import SimulationOptions

    wanted, table = _wanted(fabrics, simulator), find_prices(prices)
    with progress("searching") as report:
        plan, options = plan_from_file(job, finder, search) or plan_now(job, finder, search, prices, report)
        simulation = SimulationOptions(ring_model=collective)
        own = _simulated(plan, simulator, simulation)
        starts = starting_strategy(plan.job), plan.strategy  # as plan does, for the same answer
        skipped: list[tuple[str, str]] = []
        others = compared(
            plan.job,
            options,
            wanted,
            table,
            starts,
            report,
            simulator,
            simulation,
            on_skip=lambda *row: skipped.append(row),
        )
    rows = fabric_rows(plan, own, others)
    cluster = plan.job.cluster
    if as_json:
        print_json(
            {
                "model": plan.job.graph.name,
                "servers": cluster.servers,
                "degree": cluster.degree,
                "bandwidth_bps": cluster.link_bandwidth_bps,
                "simulator": simulator,
                "collective": collective,
                "skipped_fabrics": skipped,
                "seed": options.seed,
                "prices": table.name,
                "fabrics": rows,
            }
        )
        return
    console = terminal()
    print_title(console, plan.job.graph.name, f"on {cluster.servers} servers, simulator {simulator}")
    print_fabrics(console, rows)
    print_skipped(console, skipped)


def _wanted(fabrics: str | None, simulator: str) -> tuple[str, ...]:
    from topoopt.search import BASELINES, DEFAULT_BASELINES
    from topoopt.simulate import SIMULATORS

    if simulator not in SIMULATORS:
        raise unknown_name("simulator", simulator, SIMULATORS)
    names = listed(fabrics)
    for name in names or ():
        if name != OWN and name not in BASELINES:
            raise unknown_name("fabric", name, [OWN, *BASELINES])
    # The plan's own fabric is always the first row.
    return DEFAULT_BASELINES if names is None else tuple(name for name in names if name != OWN)


def _simulated(plan: "Plan", simulator: str, simulation: "SimulationOptions") -> "Outcome":
    from topoopt.plan import Outcome
    from topoopt.search import simulated
    from topoopt.simulate import SimulationOptions

    if simulator == plan.outcome.simulator and simulation == SimulationOptions():
        return plan.outcome
    result = simulated(plan.job, plan.strategy, plan.fabric, simulator, simulation)
    return Outcome(
        result.simulator,
        result.iteration_time_s,
        result.compute_time_s,
        result.exposed_communication_s,
        result.link_bytes_max,
        result.bandwidth_tax,
    )
