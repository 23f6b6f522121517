"""``topoopt llm traffic``: what ranks and servers send each other in one iteration of a transformer's training."""

from typing import Annotated, Any, TypedDict

from typer import Option

import topoopt
from topoopt.frontends.cli.llm.estimate import TransformerArgument
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, RankTrafficWords, Word, panel


@panel("Output")
class MatrixWords(TypedDict, total=False):
    """What the matrix is of, and what is written."""

    by: Annotated[str, Word("server|rank|kind", "server")]
    """Matrix of servers, without what stays inside them; of ranks; of servers for each kind."""
    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write the matrix, as topoopt plan FILE.csv reads it; by kind as rows kind,src,dst,bytes."""
    heat_map: File
    """Draw the matrix: .png, .svg, .pdf, or .html with tables."""


@spread
def traffic(
    words: RankTrafficWords,
    matrix: MatrixWords,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Show what an iteration sends, exactly and without running it: by kind, by rank, between servers.

    Tensor, context, expert, pipeline and data parallel messages, their sizes and counts.
    """
    csv_file, heat_map = matrix.get("csv_file"), matrix.get("heat_map")
    slots: Any = words.get("slots")  # of a flag, a file
    check_writable(csv_file, "--csv", source, words.get("loads"), slots)
    if heat_map is not None:
        check_writable(heat_map, "--heat-map")
        topoopt.llm.picture_format(heat_map)
    with progress("counting"):
        answer = topoopt.llm.traffic(source, by=matrix["by"], **words)
    pictures = () if heat_map is None else topoopt.llm.draw_rank_traffic(heat_map, answer)
    if csv_file is not None:
        answer.write_csv(csv_file)
    show(answer, as_json, written=(csv_file, *pictures))
