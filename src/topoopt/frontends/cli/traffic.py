"""``topoopt traffic``: who sends how much to whom, by pair of servers and by link."""

from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.plan import ModelArgument
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, TrafficWords, Word


class TrafficFiles(TypedDict, total=False):
    """What is written."""

    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write every pair and every link as CSV."""
    matrix: File
    """Write the bytes of all pairs as a square CSV, such as this reads."""


@spread
def traffic(
    source: ModelArgument,
    words: TrafficWords,
    files: TrafficFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what one iteration moves: by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network that is found for that; a transformer has the configuration that is the fastest in closed form.
    """
    csv_file, matrix = files.get("csv_file"), files.get("matrix")
    check_writable(csv_file, "--csv")
    check_writable(matrix, "--matrix")
    with progress("finding the topology") as report:
        answer = topoopt.traffic(source, on_progress=report, **words)
    if csv_file is not None:
        answer.write_csv(csv_file)
    if matrix is not None:
        answer.write_matrix(matrix)
    show(answer, as_json)
