"""``topoopt traffic``: who sends how much to whom, by pair of servers and by link."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.search_arguments import FinderArguments
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.words import words


@spread
def traffic(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    csv_file: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write every pair and every link as CSV.")
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the bytes of all pairs as a square CSV, such as this reads."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what one iteration moves: by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network that is found for that; a transformer has the configuration that is the fastest in closed form.
    """
    check_writable(csv_file, "--csv")
    check_writable(matrix, "--matrix")
    with progress("finding the topology") as report:
        moved = topoopt.traffic(job.source, on_progress=report, **words(job, training, finder))
    if csv_file is not None:
        moved.write_csv(csv_file)
    if matrix is not None:
        moved.write_matrix(matrix)
    if as_json:
        print_json(moved.to_json())
    else:
        show(moved)
