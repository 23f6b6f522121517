"""``topoopt cluster run``: jobs that come over time, on shards of their own or on a fabric that they share."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.cluster_arguments import (
    ClusterArguments,
    GeneratorArguments,
    requested_settings,
    requested_trace,
)
from topoopt.cli.plan import PRICES_HELP
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.spread import spread
from topoopt.cli.word_list import listed
from topoopt.cli.words import words

if TYPE_CHECKING:
    from topoopt.cluster import ClusterSettings


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
    from pathlib import Path

    from topoopt.cli.cluster_report import print_cluster
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cluster import (
        DEFAULT_COURSE_FABRICS,
        result_to_mapping,
        run_cluster,
        write_cluster_result,
        write_trace,
    )
    from topoopt.files import read_bytes
    from topoopt.provenance import digest
    from topoopt.search import start_compiling_ahead

    check_writable(out, "--out", trace)
    check_writable(generator.save_trace, "--save-trace")
    settings = _settings(machine, finder, search, prices)
    jobs = requested_trace(trace, generator, settings.logical.servers, settings.seed)
    inputs = {} if trace is None else {Path(trace).name: digest(read_bytes(trace))}
    wanted = listed(fabrics) or DEFAULT_COURSE_FABRICS
    with progress("planning jobs") as report:
        start_compiling_ahead()
        result = run_cluster(jobs, settings, wanted, inputs=inputs, on_progress=report)
    if generator.save_trace is not None:
        write_trace(generator.save_trace, jobs)
    if out is not None:
        write_cluster_result(out, result)
    if as_json:
        print_json(result_to_mapping(result))
    else:
        print_cluster(terminal(), result)


def _settings(
    machine: ClusterArguments, finder: FinderArguments, search: SearchArguments, prices: str
) -> "ClusterSettings":
    from topoopt.job import JobRequest, JobSettings
    from topoopt.verbs import search_options

    options, request = search_options(JobRequest(), words(finder, search))
    return requested_settings(machine, options, JobSettings(**request.settings), prices)
