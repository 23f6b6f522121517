"""``topoopt report``: a plan, a comparison or a cluster as one HTML page, and its figures for papers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.cli.word_list import listed

if TYPE_CHECKING:
    from topoopt.report import Page


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
    from topoopt.cli.output_file import check_folder_name, check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json

    check_folder_name(figures, "--figures")
    check_writable(out, "--out", file)
    with progress("reading") as tell:
        from topoopt.report import check_formats, draw_charts, make_page, read_subject, write_report

        wanted = check_formats(listed(formats, "--format", "png, svg or pdf, with commas") or ("none",))
        page = make_page(read_subject(file))
        drawn = [] if figures is None else list(draw_charts(page.charts, figures, wanted, tell))
        size_bytes = write_report(out, page)
    if as_json:
        print_json(_document(file, page, out, size_bytes, drawn))
    else:
        _print(page, out, size_bytes, drawn)


def _document(file: str, page: "Page", out: str, size_bytes: int, drawn: list[str]) -> dict[str, Any]:
    return {
        "file": file,
        "kind": page.kind,
        "title": page.title,
        "headline": page.headline,
        "key_numbers": dict(page.key_numbers),
        "warnings": list(page.warnings),
        "sections": [section.title for section in page.sections],
        "charts": [{"name": chart.name, "title": chart.title} for chart in page.charts],
        "out": out,
        "size_bytes": size_bytes,
        "figures": drawn,
    }


def _print(page: "Page", out: str, size_bytes: int, drawn: list[str]) -> None:
    from pathlib import Path

    from topoopt.cli.render import counted, print_facts, print_title, print_warning, terminal
    from topoopt.units import format_bytes

    console = terminal()
    print_title(console, page.title, f"report of a {page.kind}")
    print_facts(
        console,
        [
            ("answer", page.headline),
            ("sections", ", ".join(section.title for section in page.sections)),
            ("page", f"{out}, {counted(len(page.charts), 'figure')}, {format_bytes(size_bytes)}"),
            ("drawn", f"{counted(len(drawn), 'file')} in {Path(drawn[0]).parent}" if drawn else ""),
        ],
    )
    for warning in page.warnings:
        print_warning(console, warning)
