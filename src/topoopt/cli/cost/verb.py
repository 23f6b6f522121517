"""``topoopt cost``: what the network costs and draws on every fabric, and whether it can be built."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.cost.arguments import (
    AccountingArguments,
    NetworkArguments,
    OpticsArguments,
    PurchaseArguments,
)
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.spread import spread
from topoopt.cli.table_file import check_table, write_table
from topoopt.cli.word_list import listed
from topoopt.cli.words import words

COLUMNS = ("fabric", "item", "bandwidth_bps", "count", "unit_usd", "total_usd", "basis", "unit_w", "total_w")
"""Columns of the file of bills."""


@spread
def cost(
    network: NetworkArguments,
    purchase: PurchaseArguments,
    accounting: AccountingArguments,
    optics: OpticsArguments,
    bill: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Fabrics whose bill is printed, or all or none; the first."),
    ] = None,
    ratios: Annotated[
        bool,
        typer.Option("--ratios", help="Also the two published cost ratios under every way of counting."),
    ] = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every line of every bill, as .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Price the network on every fabric: bill of materials, watts, what it is built of, optical technologies."""
    check_table(out, "--out")
    with progress("choosing rings"):
        costs = topoopt.cost(network.source, ratios=ratios, **words(network, purchase, accounting, optics))
    page = topoopt.cost_page(costs, listed(bill, "--bill", "fabrics with commas, all or none"))
    if out is not None:
        write_table(out, COLUMNS, ([line[column] for column in COLUMNS] for line in costs.bill_rows()))
    if as_json:
        print_json(costs.to_json())
    else:
        show(page)
