"""``topoopt sweep``: many plans from one file, stored as they are made."""

import shlex
from typing import Annotated

import typer

import topoopt
from topoopt.cli.failure import INTERRUPTED, was_interrupted
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show


def sweep(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE.yaml", help="The sweep, such as examples/sweep.yaml.", show_default=False
        ),
    ],
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where results go; FILE.duckdb beside the sweep.")
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", help="Points computed at a time; 0 for one on each core.")
    ] = 0,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Compute on a Ray cluster: auto, local, ray://host:port (needs topoopt\\[ray]).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be computed; no file is written.")
    ] = False,
    mix_versions: Annotated[
        bool, typer.Option("--mix-versions", help="Go on in a file of another version of topoopt.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan every combination of models, clusters, fabrics and seeds in a file, and store the results.

    What is in the results file already is not computed again: after Ctrl-C, a crash, or with more values in the
    sweep, the same command goes on. Read them with topoopt results.
    """
    place = out if out is not None else topoopt.results_of(file)
    check_writable(place, "--out" if out is not None else file)
    try:
        with progress("starting processes", remaining=True) as report:
            answer = topoopt.sweep(
                file,
                out=place,
                processes=processes,
                ray=ray,
                dry_run=dry_run,
                mix_versions=mix_versions,
                on_progress=report,
            )
    except BaseException as error:
        if not was_interrupted(error):
            raise
        typer.echo(_interrupted(file, place), err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer, () if dry_run else (f"topoopt results {shlex.quote(place)}",))
    if isinstance(answer, topoopt.SweepAnswer) and answer.run.by_status.get("failed"):
        raise typer.Exit(1)


def _interrupted(file: str, place: str) -> str:
    preview = topoopt.sweep(file, out=place, dry_run=True)
    assert isinstance(preview, topoopt.SweepPreview)
    points = len(preview.sweep.points)
    return f"interrupted: {preview.finished:,} of {points:,} points are in {place}; the same command goes on"
