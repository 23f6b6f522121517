"""``topoopt compare``: the same job on other fabrics."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.plan import DEFAULT_HELP, FABRICS_HELP, SUITED_PRICES_HELP
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.simulate import COLLECTIVES_HELP, COLLECTIVES_METAVAR, SIMULATOR_HELP
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.word_list import listed
from topoopt.cli.words import words


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
    with progress("searching") as report:
        compared = topoopt.compare(
            job.source,
            fabrics=listed(fabrics),
            simulator=simulator,
            simulators=None if simulators is None else [name.strip() for name in simulators.split(",")],
            collective=collective,
            prices=prices,
            on_progress=report,
            **words(job, training, finder, search),
        )
    if as_json:
        print_json(compared.to_json())
    else:
        show(compared)
