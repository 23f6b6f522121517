"""``topoopt fail``: what a failure costs a plan, how it is repaired, and what a month of failures leaves."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.simulate import SIMULATOR_HELP
from topoopt.cli.word_list import listed
from topoopt.cli.words import given
from topoopt.errors import InvalidInput

ONE, MONTH = "One failure", "A month of failures"


def fail(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan file.")],
    link: Annotated[
        str | None,
        typer.Option(metavar="A-B", rich_help_panel=ONE, help="The cable between servers A and B fails."),
    ] = None,
    server: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=ONE, help="Server N fails.")
    ] = None,
    panel: Annotated[
        int | None,
        typer.Option(
            metavar="K", rich_help_panel=ONE, help="Panel (optical switch) K fails: all links on it."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", rich_help_panel=ONE, help="When, such as 3h: shows the course of the job."
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", rich_help_panel=ONE, help="Repairs to leave out, such as spare,look-ahead."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=ONE, help="Write the repaired plan."),
    ] = None,
    availability: Annotated[
        bool,
        typer.Option(
            "--availability", rich_help_panel=MONTH, help="Let parts fail and be repaired by chance."
        ),
    ] = False,
    rates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=MONTH, help="How often parts fail, spares, restart (YAML)."
        ),
    ] = None,
    days: Annotated[float, typer.Option(metavar="N", rich_help_panel=MONTH, help="How long.")] = 30.0,
    runs: Annotated[int, typer.Option(metavar="N", rich_help_panel=MONTH, help="How many months.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=MONTH, help="Of all chance.")] = 0,
    optics: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What panels are, for the time of moves; patch-panel if not given."
        ),
    ] = None,
    simulator: Annotated[str, typer.Option(metavar="analytic|flow|packet", help=SIMULATOR_HELP)] = "analytic",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fail a link, a server or a panel of a plan: iteration time before, during and repaired, and the moves.

    With --availability parts fail at random, and the shares of a month at full speed, degraded and down come out.
    """
    if out is not None and availability:
        raise InvalidInput("--out: writes the plan after one failure; it does not go with --availability")
    check_writable(out, "--out")
    chosen = {
        "link": link,
        "server": server,
        "panel": panel,
        "at": at,
        "without": listed(without, "--without", "repairs with commas"),
        "availability": availability or None,
        "rates": rates,
        "days": days,
        "runs": runs,
        "seed": seed,
        "optics": optics,
        "simulator": simulator,
    }
    with progress("simulating") as report:
        answer = topoopt.fail(plan, on_progress=report, **given(chosen))
    if out is not None and isinstance(answer, topoopt.FailureAnswer):
        topoopt.write_plan(out, answer.repaired_plan())
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer, () if out is None else (f"The repaired plan is in {out}.",))
