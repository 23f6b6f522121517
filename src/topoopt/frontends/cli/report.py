"""``topoopt report``: any answer as one HTML page, and its figures for papers."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import check_folder_name, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import Word


class ReportWords(TypedDict, total=False):
    """Output files."""

    out: Annotated[str, Word("FILE", "report.html")]
    """File to write."""
    figures: Annotated[str, Word("DIR")]
    """Also write each figure for papers into this directory."""
    formats: Annotated[
        Sequence[str], Word("LIST", "png,svg,pdf", ("format",), "png, svg or pdf, with commas")
    ]
    """Formats of these figures, with commas: png, svg, pdf."""


@spread
def report(
    file: Annotated[
        str,
        Argument(
            metavar="PLAN|RESULTS|FOLDER|ANSWER.json",
            help="What plan --out, sweep --out or choose --out wrote; or the JSON that compare, cluster run, serving, "
            "rl, finetune, fail or choose printed with --json.",
            show_default=False,
        ),
    ],
    words: ReportWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write an interactive HTML page that works offline.

    Topology, traffic, timeline, other fabrics, bounds, search and strategy of a plan; times and prices of a
    comparison; occupancy, iteration times and waiting of a cluster; times and prices of a sweep; figures of any other
    answer.
    """
    check_folder_name(words.get("figures"), "--figures")
    check_writable(words["out"], "--out", file)
    words["formats"] = words["formats"] or ("none",)
    with progress("reading") as tell:
        written = topoopt.report(file, on_progress=tell, **words)
    show(written, as_json)
