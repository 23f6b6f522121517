"""``topoopt cost`` and ``topoopt choose``: price of the network on every fabric, and the best one to buy."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.frontends.cli.exit_code import INTERRUPTED, was_interrupted
from topoopt.frontends.cli.output import (
    check_folder_name,
    check_table,
    progress,
    show,
)
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import ChooseWords, CostWords, File, Switch, Word

COLUMNS = ("fabric", "item", "bandwidth_bps", "count", "unit_usd", "total_usd", "basis", "unit_w", "total_w")
"""Columns of the file of bills."""


class BillWords(TypedDict, total=False):
    """Detail and output files."""

    bill: Annotated[Sequence[str], Word("LIST", commas="fabrics with commas, all or none")]
    """Networks whose bill is printed, or all or none (default: the first)."""
    ratios: Switch
    """Also print the two published cost ratios under every accounting."""
    out: File
    """Write every line of every bill, as .csv or .parquet."""


class ChooseFiles(TypedDict, total=False):
    """Output files."""

    out: Annotated[str, Word("DIR")]
    """Directory for the answer, a table of all networks and the plans; the same command resumes from it."""


@spread
def choose(
    jobs: Annotated[
        list[str],
        Argument(
            metavar="JOB...",
            help="MODEL, MODEL:SHARE or MODEL@SERVERS:SHARE, a model being a name or a job file; or a mix file.",
            show_default=False,
        ),
    ],
    words: ChooseWords,
    files: ChooseFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose the network to buy for a mix of jobs: every degree, bandwidth and fabric, cost against time.

    Networks are priced first. Candidates for the Pareto front of cost and time are planned for every job; the choice is
    the network on which a year of work costs least, or the best within a limit.
    """
    out = files.get("out")
    check_folder_name(out, "--out")
    try:
        with progress("starting processes", remaining=True) as report:
            answer = topoopt.choose(jobs, out=out, on_progress=report, **words)
    except BaseException as error:
        if out is None or not was_interrupted(error):
            raise
        echo(f"interrupted: what was planned is in {out}; the same command goes on", err=True)
        raise Exit(INTERRUPTED) from None
    show(answer, as_json, (), (out,))


@spread
def cost(
    words: CostWords,
    shown: BillWords,
    source: Annotated[
        str | None,
        Argument(
            metavar="PLAN",
            show_default=False,
            help="Plan whose servers, ports, wiring and traffic are priced (default: those of the flags).",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Price every network: bill of materials, power, switches and optical technologies."""
    out = shown.get("out")
    check_table(out, "--out")
    with progress("choosing rings"):
        costs = topoopt.cost(source, ratios=shown["ratios"], **words)
    page = topoopt.cost_page(costs, shown.get("bill"))
    if out is not None:
        write_table(out, COLUMNS, ([line[column] for column in COLUMNS] for line in costs.bill_rows()))
    show(costs if as_json else page, as_json)
