"""``topoopt llm search``: the fastest ways to train a transformer on so many accelerators."""

from itertools import chain
from typing import Annotated

import typer

import topoopt
from topoopt.cli.llm.arguments import SystemArguments, TransformerArguments
from topoopt.cli.llm.search_arguments import FixedArguments, HowArguments, LimitArguments
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.spread import spread
from topoopt.cli.table_file import check_table, write_table
from topoopt.cli.words import words

OUTPUT = "Output"


@spread
def search(
    transformer: TransformerArguments,
    machines: SystemArguments,
    fixed: FixedArguments,
    limits: LimitArguments,
    how: HowArguments,
    top: Annotated[int, typer.Option(metavar="K", rich_help_panel=OUTPUT, help="How many are shown.")] = 10,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants",
            rich_help_panel=OUTPUT,
            help="Show also rows that differ from a faster one in recomputation, ZeRO or sequence parallelism only.",
        ),
    ] = False,
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv", metavar="FILE", rich_help_panel=OUTPUT, help="Write all that fit, the fastest first."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Find the fastest ways to split a transformer: degrees, micro-batch, recomputation, ZeRO.

    Every valid configuration is looked at; those that do not fit into memory are left out, the others are ranked by
    estimated time.
    """
    check_table(csv_file, "--csv")
    given = words(transformer, machines, fixed, limits, how)
    with progress("searching configurations"):
        answer = topoopt.llm.search(transformer.source, top=top, variants=variants, **given)
    if csv_file is not None:
        rows = answer.rows()
        first = next(rows)
        write_table(csv_file, list(first), (list(row.values()) for row in chain([first], rows)))
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer, written=(csv_file,))
