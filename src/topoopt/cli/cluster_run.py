"""``topoopt cluster run``: jobs that come over time, on shards of their own or on a fabric that they share."""

from typing import Annotated

import typer

import topoopt
from topoopt.ahead import start_compiling_ahead
from topoopt.cli.cluster_arguments import ClusterArguments, GeneratorArguments
from topoopt.cli.output_file import check_writable
from topoopt.cli.plan import PRICES_HELP
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.spread import spread
from topoopt.cli.word_list import listed
from topoopt.cli.words import words


@spread
def run(
    generator: GeneratorArguments,
    machine: ClusterArguments,
    finder: FinderArguments,
    search: SearchArguments,
    trace: Annotated[
        str | None,
        typer.Argument(
            metavar="TRACE.csv", show_default=False, help="A row for each job; see examples/trace.csv."
        ),
    ] = None,
    fabrics: Annotated[
        str | None,
        typer.Option(
            "--fabric",
            "--fabrics",
            metavar="LIST",
            help="With commas: topoopt (behind patch panels), topoopt-ocs; shared: fat-tree, oversub-fat-tree, "
            "ideal-switch, rail, expander, torus, full-mesh. If not given: topoopt and the first three shared ones.",
        ),
    ] = None,
    prices: Annotated[str, typer.Option(metavar="2022|2025|FILE", help=PRICES_HELP)] = "2022",
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result as JSON, for topoopt report.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every job.")] = False,
) -> None:
    """Run a trace of jobs on a cluster, and say how long iterations, jobs and waiting take on each fabric."""
    check_writable(out, "--out", trace)
    check_writable(generator.save_trace, "--save-trace")
    start_compiling_ahead()  # before all that a run imports
    with progress("planning jobs") as report:
        result = topoopt.cluster.run(
            trace,
            fabrics=listed(fabrics),
            prices=prices,
            on_progress=report,
            **words(generator, machine, finder, search),
        )
    if out is not None:
        topoopt.write_cluster_result(out, result)
    if as_json:
        print_json(result.to_json())
    else:
        show(result)
