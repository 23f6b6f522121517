"""``topoopt fail``: what a failure costs a plan, how it is repaired, and what a month of failures leaves."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.simulate import SIMULATOR_HELP
from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.failure import Failure, FailureRates
    from topoopt.plan import Plan

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
    from topoopt.simulate import SIMULATORS

    if simulator not in SIMULATORS:
        raise unknown_name("simulator", simulator, SIMULATORS)
    failure = _failure(link, server, panel)
    if availability:
        for flag, value in (("--link, --server or --panel", failure), ("--at", at), ("--without", without)):
            if value is not None:
                raise InvalidInput(f"--availability: fails parts by chance; it does not go with {flag}")
        if out is not None:
            raise InvalidInput("--out: writes the plan after one failure; it does not go with --availability")
        _availability(plan, rates, days, runs, seed, optics, simulator, as_json)
    elif failure is None:
        raise InvalidInput(
            "fail: what fails? Give one of --link A-B, --server N, --panel K, or --availability"
        )
    else:
        if rates is not None and at is None:
            raise InvalidInput(
                "--rates: is for --availability, or with --at for its restart and checkpoint times"
            )
        _one(plan, failure, at, rates, without, out, optics, simulator, as_json)


def _one(
    path: str,
    failure: "Failure",
    at: str | None,
    rates: str | None,
    without: str | None,
    out: str | None,
    optics: str | None,
    simulator: str,
    as_json: bool,
) -> None:
    from topoopt.cli.fail_report import failure_document, print_failure
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.failure import move_time_s, phases, predict, repaired_plan
    from topoopt.plan import read_plan, write_plan
    from topoopt.units import parse_time

    check_writable(out, "--out")
    left_out, rules = _left_out(without), _rates(rates, optics)
    at_s = None if at is None else parse_time(at, "--at")
    found = read_plan(path)
    with progress("simulating") as report:
        prediction = predict(found, failure, simulator=simulator, without_ways=left_out, on_progress=report)
    if out is not None:
        write_plan(out, repaired_plan(prediction))
    course = None
    if at_s is not None:
        course = phases(prediction, at_s, rules.optics, rules.restart_s, rules.checkpoint_s)
    times = {row.way.name: move_time_s(row.repair, rules.optics) for row in prediction.rows}
    document = failure_document(prediction, path, simulator, times, rules.optics, course)
    if as_json:
        print_json(document)
    else:
        print_failure(terminal(), document, out)


def _availability(
    path: str,
    rates: str | None,
    days: float,
    runs: int,
    seed: int,
    optics: str | None,
    simulator: str,
    as_json: bool,
) -> None:
    from topoopt.cli.availability_report import availability_document, print_availability
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.failure import availability, effects, parts_of
    from topoopt.plan import read_plan

    if seed < 0:
        raise InvalidInput(f"--seed: must be >= 0, got {seed}")
    if not 0 < days <= 36500 or not 2 <= runs <= 1_000_000:
        raise InvalidInput(
            f"--days must be in 0 < days <= 36500 and --runs in 2..1000000, got {days:g} and {runs}"
        )
    rules = _rates(rates, optics)
    found: Plan = read_plan(path)
    with progress("simulating single failures") as report:
        kinds = effects(found, rules, simulator=simulator, on_progress=report)
        report("drawing months", 0, 0)
        result = availability(parts_of(found), kinds, rules, days=days, runs=runs, seed=seed)
    document = availability_document(found, path, result, kinds, rules, simulator)
    if as_json:
        print_json(document)
    else:
        print_availability(terminal(), document)


def _failure(link: str | None, server: int | None, panel: int | None) -> "Failure | None":
    from topoopt.failure import FailedLink, FailedPanel, FailedServer

    given = [
        name
        for name, value in (("--link", link), ("--server", server), ("--panel", panel))
        if value is not None
    ]
    if len(given) > 1:
        raise InvalidInput(f"{given[1]}: one failure at a time; give it or {given[0]}")
    if server is not None:
        return FailedServer(server)
    if panel is not None:
        return FailedPanel(panel)
    if link is None:
        return None
    ends = link.split("-")
    if len(ends) != 2 or not all(end.strip().isdecimal() for end in ends):
        raise InvalidInput(f'--link: expected two servers such as 3-4, got "{link}"')
    return FailedLink(int(ends[0]), int(ends[1]))


def _left_out(without: str | None) -> tuple[str, ...]:
    from topoopt.failure import WAYS

    names = listed(without, "--without", "repairs with commas") or ()
    for name in names:
        if name not in WAYS:
            raise unknown_name("--without: repair", name, WAYS)
    return names


def _rates(path: str | None, optics: str | None) -> "FailureRates":
    from dataclasses import replace

    from topoopt.failure import DEFAULT_RATES, read_rates
    from topoopt.hardware import find_optical_switch

    found = DEFAULT_RATES if path is None else read_rates(path)
    return found if optics is None else replace(found, optics=find_optical_switch(optics).name)
