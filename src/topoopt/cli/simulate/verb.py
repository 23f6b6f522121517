"""``topoopt simulate``: a plan once more, or an authors' task graph, at a fidelity and on a fabric of choice."""

from typing import Annotated

import typer

import topoopt
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.simulate.arguments import FabricArguments, FileArguments, PacketArguments
from topoopt.cli.simulate.files import check_files, write_files
from topoopt.cli.spread import spread
from topoopt.cli.words import words

SIMULATOR_HELP = (
    "analytic: first come, first served on each link, quick. flow: fair shares over time. "
    "packet: every packet through every queue."
)
COLLECTIVES_METAVAR = (
    "stepped|bulk|ring|multi-ring|tree|halving-doubling|hierarchical|parameter-server|pairwise|auto"
)
COLLECTIVES_HELP = (
    "bulk: one flow for all rounds (FlexNet's way). ring is stepped; the others play an AllReduce, pairwise an "
    "all-to-all, transfer by transfer. auto: by group and size, the quickest in closed form on the fabric's paths."
)


@spread
def simulate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="PLAN|GRAPH.fbuf[.xz]...",
            show_default=False,
            help="A file of topoopt plan --out, or a FlexNet task graph; several run at once, as jobs on one fabric.",
        ),
    ],
    fabric: FabricArguments,
    packets: PacketArguments,
    files: FileArguments,
    simulator: Annotated[
        str | None,
        typer.Option(
            metavar="packet|flow|analytic|auto",
            help=f"{SIMULATOR_HELP} auto: analytic where nothing contends, else flow, with the error to expect. "
            "If not given: packet for a .fbuf or with a flag about packets, auto for a plan.",
        ),
    ] = None,
    steady_state: Annotated[
        bool,
        typer.Option(
            "--steady-state",
            help="Of 4 iterations of a plan that overlap, the mean of those in the middle.",
        ),
    ] = False,
    collective: Annotated[
        str,
        typer.Option(
            metavar=COLLECTIVES_METAVAR,
            help=f"stepped: rings in rounds that wait for each other. {COLLECTIVES_HELP}",
        ),
    ] = "stepped",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", help="Of all chance: paths, equal ready times, wiring. Equal seeds, equal bytes."
        ),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with what every link carried.")
    ] = False,
) -> None:
    """Simulate a plan or a task graph. Bytes are those of one iteration, also in the steady state."""
    check_files(files, sources)
    with progress("simulating") as report:
        run = topoopt.simulate(
            sources,
            simulator=simulator,
            steady_state=steady_state,
            collective=collective,
            seed=seed,
            log_flows=True if files.flows is not None else None,
            on_progress=report,
            **words(fabric, packets),
        )
    write_files(run, files)
    if as_json:
        print_json(run.to_json())
    else:
        show(run)
