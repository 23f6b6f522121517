"""``topoopt sweep``: many plans from one file, stored as they are made."""

import shlex
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.frontends.cli.exit_code import INTERRUPTED, was_interrupted
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, Switch, Word


class SweepWords(TypedDict, total=False):
    """Where results go, and who computes."""

    out: File
    """Where results go; FILE.duckdb beside the sweep."""
    processes: Annotated[int, Word("N", 0)]
    """Points computed at a time; 0 for one on each core."""
    ray: Annotated[str, Word("ADDRESS")]
    """Compute on a Ray cluster: auto, local, ray://host:port (needs topoopt[ray])."""
    dry_run: Switch
    """Only say what would be computed; no file is written."""
    mix_versions: Switch
    """Go on in a file of another version of topoopt."""


@spread
def sweep(
    file: Annotated[
        str,
        Argument(metavar="FILE.yaml", help="The sweep, such as examples/sweep.yaml.", show_default=False),
    ],
    words: SweepWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan every combination of models, clusters, fabrics and seeds in a file, and store the results.

    What is in the results file already is not computed again: after Ctrl-C, a crash, or with more values in the
    sweep, the same command goes on. Read them with topoopt results.
    """
    preview = _preview(file, words)
    place = preview.out
    check_writable(place, "--out" if "out" in words else file)
    try:
        with progress("starting processes", remaining=True) as report:
            answer = topoopt.sweep(file, on_progress=report, **words)
    except BaseException as error:
        if not was_interrupted(error):
            raise
        done, points = _preview(file, words).finished, len(preview.sweep.points)
        echo(f"interrupted: {done:,} of {points:,} points are in {place}; the same command goes on", err=True)
        raise Exit(INTERRUPTED) from None
    show(answer, as_json, () if words["dry_run"] else (f"topoopt results {shlex.quote(place)}",))
    if isinstance(answer, topoopt.SweepAnswer) and answer.run.by_status.get("failed"):
        raise Exit(1)


def _preview(file: str, words: SweepWords) -> "topoopt.SweepPreview":
    """Return what there is to do, and what is done."""
    preview = topoopt.sweep(file, **(words | {"dry_run": True}))
    assert isinstance(preview, topoopt.SweepPreview)
    return preview
