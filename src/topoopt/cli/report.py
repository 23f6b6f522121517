"""``topoopt report``: a plan, a comparison or a cluster as one HTML page, and its figures for papers."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.output_file import check_folder_name, check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.word_list import listed


def report(
    file: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|COMPARISON|CLUSTER",
            help="A JSON file that plan --out, compare --json or cluster run --json has written.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the page is written.")] = "report.html",
    figures: Annotated[
        str | None, typer.Option(metavar="DIR", help="Draw each figure for papers, too, into this folder.")
    ] = None,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="LIST", help="Of these figures, with commas: png, svg, pdf."),
    ] = "png,svg,pdf",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write one interactive HTML page that needs no network.

    Topology, traffic, timeline, other fabrics, bounds, search and strategy of a plan; times and prices of a
    comparison; occupancy, iteration times and waiting of a cluster.
    """
    check_folder_name(figures, "--figures")
    check_writable(out, "--out", file)
    drawn_as = listed(formats, "--format", "png, svg or pdf, with commas") or ("none",)
    with progress("reading") as tell:
        written = topoopt.report(file, out, figures=figures, formats=drawn_as, on_progress=tell)
    if as_json:
        print_json(written.to_json())
    else:
        show(written)
