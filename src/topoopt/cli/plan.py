"""``topoopt plan``: from a model and a cluster to a plan."""

import shlex
from typing import Annotated

import typer

import topoopt
from topoopt.ahead import start_compiling_ahead
from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.word_list import listed
from topoopt.cli.words import words

FABRICS_HELP = (
    "Baselines, with commas: ideal-switch, fat-tree, oversub-fat-tree, expander, torus, full-mesh, rail, sip-ml, "
    "ocs-reconfig, mixnet."
)
DEFAULT_HELP = "If not given the first five, for a transformer rail, too"
PRICES_HELP = "Price list: 2022, 2025 or a file of your own."
SUITED_PRICES_HELP = f"{PRICES_HELP} If not given 2022, or 2025 for ports faster than those of 2022."
INTERRUPTED = 130


@spread
def plan(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    search: SearchArguments,
    fabrics: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help=f"{FABRICS_HELP} {DEFAULT_HELP}; none for none.",
        ),
    ] = None,
    prices: Annotated[str | None, typer.Option(metavar="2022|2025|FILE", help=SUITED_PRICES_HELP)] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the plan, for report and all other verbs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Find strategy, topology and routing together, and say what they are worth.

    Of a transformer the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.
    """
    check_writable(out, "--out", job.source)
    start_compiling_ahead()  # before all that a plan imports
    with progress("searching") as report:
        found = topoopt.plan(
            job.source,
            fabrics=listed(fabrics),
            prices=prices,
            on_progress=report,
            **words(job, training, finder, search),
        )
    if out is not None:
        topoopt.write_plan(out, found)
    if as_json:
        print_json(topoopt.plan_to_mapping(found))
    else:
        show(found, _next_steps(out))
    if found.search.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _next_steps(out: str | None) -> tuple[str, ...]:
    if out is None:
        return ("To keep the plan, for pictures (topoopt report) and all other verbs: --out plan.json",)
    path = shlex.quote(out)
    return (
        f"The plan is in {out}, every split and every link. Pictures of it, as a page for the browser:",
        f"topoopt report {path}",
        f"topoopt simulate {path} --simulator flow",
        f"topoopt traffic {path}",
        f"topoopt compare {path} --simulator flow",
        f"topoopt cost {path}",
        f"topoopt fail {path} --server 0",
    )
