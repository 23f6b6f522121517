"""``topoopt collective``: a collective on a wiring, by every schedule."""

from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_atomically
from topoopt.schema.words import CollectiveWords, File, Word, panel

FORMATS = ("msccl",)


@panel("Export")
class ExportWords(TypedDict, total=False):
    """What is written."""

    export: Annotated[str, Word("msccl")]
    """Write the schedule as other programs read it: XML of MSCCL, checked by running it."""
    out: File
    """The file that is written."""


@spread
def collective(
    op: Annotated[
        str,
        Option(
            metavar="NAME", show_default=False, help="allreduce, all-gather, reduce-scatter or all-to-all."
        ),
    ],
    bytes: Annotated[str, Option(metavar="SIZE", show_default=False, help="The message, such as 1MB.")],
    words: CollectiveWords,
    files: ExportWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a collective on a wiring: steps and bytes of every schedule, and the quickest for its size."""
    out = files.get("out")
    if ("export" in files) != (out is not None):
        raise InvalidInput("--export: goes with --out; give both, such as --export msccl --out schedule.xml")
    if files.get("export", FORMATS[0]) not in FORMATS:
        raise InvalidInput(f"--export: expected {' or '.join(FORMATS)}, got {files['export']}")
    check_writable(out, "--out", words.get("wiring"))  # type: ignore[arg-type]
    with progress("comparing schedules"):
        answer = topoopt.collective(op, bytes, **words)
    if out is not None:
        with progress("running the file that is written"):
            text = answer.msccl()
        write_atomically(out, text)
    show(answer, as_json, written=(out,))
