"""``topoopt compare``: the same job on other fabrics."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.plan import DEFAULT_HELP, FABRICS_HELP, SUITED_PRICES_HELP
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.simulate import COLLECTIVES_HELP, COLLECTIVES_METAVAR, SIMULATOR_HELP
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.word_list import listed
from topoopt.cli.words import words
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.plan import Outcome, Plan
    from topoopt.simulate import SimulationOptions

OWN = "topoopt"


@spread
def compare(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    search: SearchArguments,
    fabrics: Annotated[
        str | None,
        typer.Option(metavar="LIST", help=f"{FABRICS_HELP} {DEFAULT_HELP}."),
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option(metavar="analytic|flow|packet", help=f"{SIMULATOR_HELP} If not given, analytic."),
    ] = None,
    simulators: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Simulate every fabric with each, such as flow,packet, and show by how much they differ.",
        ),
    ] = None,
    collective: Annotated[
        str,
        typer.Option(metavar=COLLECTIVES_METAVAR, help=f"stepped: rings in rounds. {COLLECTIVES_HELP}"),
    ] = "stepped",
    prices: Annotated[str | None, typer.Option(metavar="2022|2025|FILE", help=SUITED_PRICES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put the same job on other fabrics, each with a strategy searched for it."""
    from topoopt.cli.baseline_table import fabric_rows, print_fabrics, print_other_simulators, print_skipped
    from topoopt.cli.fidelity_table import fidelity_names, fidelity_rows, print_fidelities
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, print_title, terminal
    from topoopt.cost import find_prices, suited_prices
    from topoopt.search import at_fidelities, default_baselines, outcome, starting_strategy
    from topoopt.search import compare as compared
    from topoopt.simulate import collective_options
    from topoopt.verbs import plan_from_file, plan_without_baselines

    levels = _levels(simulator, fidelity_names(simulators))
    wanted, known = _wanted(fabrics), None if prices is None else find_prices(prices)
    if simulators is not None:
        _refuse_changing_circuits(wanted or (), levels)
    with progress("searching") as report:
        given = words(job, training, finder, search)
        plan, options = plan_from_file(job.source, given) or plan_without_baselines(
            job.source, given, prices, report
        )
        table = known or find_prices(suited_prices(plan.job.cluster.link_bandwidth_bps))
        simulation = collective_options(collective)
        quick = "flow" if levels[0] == "packet" else levels[0]  # packets would take too long in a search
        own = _simulated(plan, quick, simulation)
        starts = starting_strategy(plan.job), plan.strategy  # as plan does, for the same answer
        skipped: list[tuple[str, str]] = []
        others = compared(
            plan.job,
            options,
            default_baselines(plan.job) if wanted is None else wanted,
            table,
            starts,
            report,
            quick,
            simulation,
            on_skip=lambda *row: skipped.append(row),
        )
        found = []
        if levels != (quick,):
            simulation = replace(simulation, seed=options.seed)
            found = list(at_fidelities(plan, others, levels, simulation, report))
            own, *outcomes = (outcome(row.results[0]) for row in found)
            others = tuple(replace(row, outcome=new) for row, new in zip(others, outcomes, strict=True))
    rows = fabric_rows(plan, own, others)
    if len(levels) > 1:
        rows = [{**row, **more} for row, more in zip(rows, fidelity_rows(found), strict=True)]
    cluster = plan.job.cluster
    if as_json:
        from topoopt.report import COMPARISON_FORMAT

        print_json(
            {
                "format": COMPARISON_FORMAT,
                "model": plan.job.graph.name,
                "servers": cluster.servers,
                "degree": cluster.degree,
                "bandwidth_bps": cluster.link_bandwidth_bps,
                "simulator": levels[0],
                "simulators": levels,
                "collective": collective,
                "skipped_fabrics": skipped,
                "seed": options.seed,
                "prices": table.name,
                "provenance": {
                    "version": plan.provenance.version,
                    "seed": options.seed,
                    "inputs": dict(plan.provenance.inputs),
                },
                "fabrics": rows,
            }
        )
        return
    console = terminal()
    print_title(console, plan.job.graph.name, f"on {cluster.servers} servers, simulator {levels[0]}")
    print_fabrics(console, rows)
    print_skipped(console, skipped)
    print_other_simulators(console, rows, levels[0])
    if len(levels) > 1:
        print_fidelities(console, found)


def _levels(simulator: str | None, simulators: tuple[str, ...]) -> tuple[str, ...]:
    """Return the simulators; the first gives the times of the table."""
    from topoopt.simulate import SIMULATORS

    if simulator is not None and simulators:
        raise InvalidInput("--simulator: the first of --simulators is meant; give one of the two flags")
    if simulator is not None and simulator not in SIMULATORS:
        raise unknown_name("simulator", simulator, SIMULATORS)
    return simulators or (simulator or "analytic",)


def _wanted(fabrics: str | None) -> tuple[str, ...] | None:
    from topoopt.search import BASELINES

    names = listed(fabrics)
    for name in names or ():
        if name != OWN and name not in BASELINES:
            raise unknown_name("fabric", name, [OWN, *BASELINES])
    # The plan's own fabric is always the first row.
    return None if names is None else tuple(name for name in names if name != OWN)


def _refuse_changing_circuits(wanted: tuple[str, ...], levels: tuple[str, ...]) -> None:
    from topoopt.search import BASELINES

    changing = [name for name in wanted if any(rule.searched_on for rule in BASELINES[name])]
    if changing and "analytic" in levels:
        raise InvalidInput(
            f"--simulators: analytic cannot follow the circuits of {' and '.join(changing)}; "
            "leave out one or the other"
        )


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
