"""``topoopt cost``: what the network costs and draws on every fabric, and whether it can be built."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import check_table, progress, show, show_page
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import CostWords, File, Switch, Word

COLUMNS = ("fabric", "item", "bandwidth_bps", "count", "unit_usd", "total_usd", "basis", "unit_w", "total_w")
"""Columns of the file of bills."""


class BillWords(TypedDict, total=False):
    """What is shown and written."""

    bill: Annotated[Sequence[str], Word("LIST", commas="fabrics with commas, all or none")]
    """Fabrics whose bill is printed, or all or none; the first."""
    ratios: Switch
    """Also the two published cost ratios under every way of counting."""
    out: File
    """Write every line of every bill, as .csv or .parquet."""


@spread
def cost(
    words: CostWords,
    shown: BillWords,
    source: Annotated[
        str | None,
        Argument(
            metavar="PLAN",
            show_default=False,
            help="A plan, whose servers, ports, wiring and traffic are taken; without one, the flags say it.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Price the network on every fabric: bill of materials, watts, what it is built of, optical technologies."""
    out = shown.get("out")
    check_table(out, "--out")
    with progress("choosing rings"):
        costs = topoopt.cost(source, ratios=shown["ratios"], **words)
    page = topoopt.cost_page(costs, shown.get("bill"))
    if out is not None:
        write_table(out, COLUMNS, ([line[column] for column in COLUMNS] for line in costs.bill_rows()))
    if as_json:
        show(costs, True)
    else:
        show_page(page)
