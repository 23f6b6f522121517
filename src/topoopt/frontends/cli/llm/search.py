"""``topoopt llm search``: the fastest ways to train a transformer on so many accelerators."""

from itertools import chain
from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.frontends.cli.llm.estimate import TransformerArgument
from topoopt.frontends.cli.output import check_table, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import ConfigurationSearchWords, Switch, Word, panel


@panel("Output")
class ListWords(TypedDict, total=False):
    """How many are shown, and what is written."""

    top: Annotated[int, Word("K", 10)]
    """How many are shown."""
    variants: Switch
    """Show also rows that differ from a faster one in recomputation, ZeRO or sequence parallelism only."""
    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write all that fit, the fastest first."""


@spread
def search(
    words: ConfigurationSearchWords,
    shown: ListWords,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Find the fastest ways to split a transformer: degrees, micro-batch, recomputation, ZeRO.

    Every valid configuration is looked at; those that do not fit into memory are left out, the others are ranked by
    estimated time.
    """
    csv_file = shown.get("csv_file")
    check_table(csv_file, "--csv")
    with progress("searching configurations"):
        answer = topoopt.llm.search(source, top=shown["top"], variants=shown["variants"], **words)
    if csv_file is not None:
        rows = answer.rows()
        first = next(rows)
        write_table(csv_file, list(first), (list(row.values()) for row in chain([first], rows)))
    show(answer, as_json, written=(csv_file,))
