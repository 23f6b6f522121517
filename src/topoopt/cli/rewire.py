"""``topoopt rewire``: from the wiring of one plan to that of another with the fewest moved fibers."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.table_file import check_table, write_table

COLUMNS = ("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface")


def rewire(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The plan that is wired now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The plan that comes.")],
    keep_running: Annotated[
        bool,
        typer.Option("--keep-running", help="The job runs on meanwhile: never cut it, rename no server."),
    ] = False,
    no_relabel: Annotated[
        bool, typer.Option("--no-relabel", help="Rank r of the new plan stays on server r.")
    ] = False,
    interfaces_per_panel: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Interfaces of a server on one panel. The fewest that do if not given."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every move, in order, as CSV or Parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which fibers to move, in which order, to get from one plan to the next."""
    check_table(out, "--out")
    with progress("looking for the fewest moves"):
        answer = topoopt.rewire(
            old,
            new,
            keep_running=keep_running,
            relabel=not no_relabel,
            interfaces_per_panel=interfaces_per_panel,
        )
    if out is not None:
        write_table(out, COLUMNS, answer.moves())
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer)
