"""``topoopt sweep``: many plans from one file, stored as they are made."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.sweep import Crew, Sweep, SweepRun

DATABASE = ".duckdb"


def sweep(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE.yaml", help="The sweep, such as examples/sweep.yaml.", show_default=False
        ),
    ],
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where results go; FILE.duckdb beside the sweep.")
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", help="Points computed at a time; 0 for one on each core.")
    ] = 0,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Compute on a Ray cluster: auto, local, ray://host:port (needs topoopt\\[ray]).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be computed; no file is written.")
    ] = False,
    mix_versions: Annotated[
        bool, typer.Option("--mix-versions", help="Go on in a file of another version of topoopt.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan every combination of models, clusters, fabrics and seeds in a file, and store the results.

    What is in the results file already is not computed again: after Ctrl-C, a crash, or with more values in the
    sweep, the same command goes on. Read them with topoopt results.
    """
    from topoopt.cli.failure import INTERRUPTED, was_interrupted
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json
    from topoopt.sweep import count_finished, read_sweep, run_sweep

    asked = read_sweep(file)
    place = out if out is not None else _beside(file)
    check_writable(place, "--out" if out is not None else file)
    crew = _crew(processes, ray)
    if dry_run:
        _say_what_would_be(asked, place, count_finished(asked, place), as_json)
        return
    try:
        with progress("starting processes", remaining=True) as report:
            done = run_sweep(asked, place, crew, on_progress=report, mix_versions=mix_versions)
    except BaseException as error:
        if not was_interrupted(error):
            raise
        typer.echo(_interrupted(asked, place), err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(_document(asked, place, done))
    else:
        _print_run(asked, place, done)
    if done.by_status.get("failed"):
        raise typer.Exit(1)


def _beside(file: str) -> str:
    return str(Path(file).with_suffix(DATABASE))


def _crew(processes: int, address: str | None) -> "Crew":
    from topoopt.sweep import processes as processes_here
    from topoopt.sweep import ray_cluster

    if processes < 0:
        raise InvalidInput(f"--processes: expected an integer >= 0, got {processes}")
    if address is None:
        return processes_here(processes)
    if not address:
        raise InvalidInput("--ray: expected auto, local or an address such as ray://host:10001, got nothing")
    return ray_cluster(address, processes)


def _interrupted(asked: "Sweep", place: str) -> str:
    from topoopt.sweep import count_finished

    kept = count_finished(asked, place)
    return f"interrupted: {kept:,} of {len(asked.points):,} points are in {place}; the same command goes on"


def _say_what_would_be(asked: "Sweep", place: str, finished: int, as_json: bool) -> None:
    from topoopt.cli.render import print_facts, print_json, print_title, terminal

    missing = len(asked.points) - finished
    if as_json:
        print_json(
            {
                "sweep": asked.name,
                "out": place,
                "points": len(asked.points),
                "finished": finished,
                "to_compute": missing,
                "axes": {name: list(values) for name, values in asked.axes.items()},
            }
        )
        return
    console = terminal()
    print_title(console, asked.name, f"{len(asked.points):,} points")
    print_facts(console, [(name, _values(name, values)) for name, values in asked.axes.items()])
    console.print(
        f"  {finished:,} are in {place}, {missing:,} would be computed", highlight=False, markup=False
    )


def _values(name: str, values: tuple[Any, ...]) -> str:
    from topoopt.cli.cells import cell

    return ", ".join(cell(name, value) for value in values)


def _document(asked: "Sweep", place: str, done: "SweepRun") -> dict[str, Any]:
    return {
        "sweep": asked.name,
        "out": place,
        "points": done.points,
        "found": done.found,
        "computed": done.computed,
        "ok": done.by_status.get("ok", 0),
        "infeasible": done.by_status.get("infeasible", 0),
        "failed": done.by_status.get("failed", 0),
        "others": done.others,
    }


def _print_run(asked: "Sweep", place: str, done: "SweepRun") -> None:
    import shlex

    from topoopt.cli.render import counted, print_facts, print_title, print_warning, terminal

    console = terminal()
    print_title(console, asked.name, counted(done.points, "point"))
    kinds = [
        f"{count:,} {'with' if status == 'ok' else status + ', without'} a result"
        for status, count in sorted(done.by_status.items(), key=lambda item: item[0] != "ok")
    ]
    print_facts(
        console,
        [
            ("computed", f"{done.computed:,}" + (f": {'; '.join(kinds)}" if kinds else "")),
            ("found", f"{done.found:,} that were there already" if done.found else ""),
            ("beside", f"{counted(done.others, 'point')} of other sweeps" if done.others else ""),
            ("results", place),
        ],
    )
    if done.by_status.get("failed"):
        print_warning(
            console, "What has failed is tried again by the same command; the reason is in its row."
        )
    print_title(console, "Next")
    console.print(f"  topoopt results {shlex.quote(place)}", highlight=False, markup=False)
