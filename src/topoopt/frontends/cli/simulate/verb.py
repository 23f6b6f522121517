"""``topoopt simulate``: a plan once more, or an authors' task graph, at a fidelity and on a fabric of choice."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.progress import progress
from topoopt.frontends.cli.render import show
from topoopt.frontends.cli.simulate.files import SimulationFiles, check_files, write_files
from topoopt.frontends.cli.spread import spread
from topoopt.schema.words import COLLECTIVE_FORM, SimulationWords, Switch, Word


class FidelityWords(TypedDict, total=False):
    """At which fidelity, and how collectives run."""

    simulator: Annotated[str, Word("packet|flow|analytic|auto")]
    """analytic: first come, first served on each link, quick. flow: fair shares over time. packet: every packet
    through every queue. auto: analytic where nothing contends, else flow, with the error to expect. If not given:
    packet for a .fbuf or with a flag about packets, else auto."""
    steady_state: Switch
    """Of 4 iterations of a plan that overlap, the mean of those in the middle."""
    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """stepped: rings in rounds that wait for each other. bulk: one flow for all rounds (FlexNet's way). ring is
    stepped; the others play an AllReduce, pairwise an all-to-all, transfer by transfer. auto: by group and size, the
    quickest in closed form on the fabric's paths. If not given, as the plan or its traces have it, else stepped."""
    seed: Annotated[int, Word("N", 0)]
    """Of all chance: paths, equal ready times, wiring. Equal seeds, equal bytes."""


@spread
def simulate(
    sources: Annotated[
        list[str],
        Argument(
            metavar="PLAN|GRAPH.fbuf[.xz]|TRACES...",
            show_default=False,
            help="A file of topoopt plan --out, a FlexNet task graph, or Chakra's traces (a folder of PREFIX.RANK.et, "
            "or the prefix); several run at once, as jobs on one fabric.",
        ),
    ],
    words: SimulationWords,
    files: SimulationFiles,
    how: FidelityWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with what every link carried.")] = False,
) -> None:
    """Simulate a plan or a task graph. Bytes are those of one iteration, also in the steady state."""
    check_files(files, sources)
    log_flows = True if "flows" in files else None
    with progress("simulating") as report:
        run = topoopt.simulate(sources, log_flows=log_flows, on_progress=report, **how, **words)
    write_files(run, files)
    show(run, as_json)
