"""``topoopt simulate``: a plan once more, or an authors' task graph, at a fidelity and on a fabric of choice."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_table, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import COLLECTIVE_FORM, File, SimulationWords, Switch, Word, as_flag, panel

PACKED = (".fbuf", ".fbuf.xz")
TABLES = ("flows", "links")


@panel("Files")
class SimulationFiles(TypedDict, total=False):
    """Output files."""

    timeline: File
    """Write a timeline of all tasks as CSV."""
    trace: File
    """Write a trace of all tasks for Perfetto (JSON)."""
    flows: File
    """Write flow completion times, as .csv or .parquet (needs topoopt[parquet])."""
    links: File
    """Write statistics of links and queues, as .csv or .parquet."""
    write_fbuf: File
    """Write tasks and fabric as .fbuf or .fbuf.xz, for the authors' simulator."""
    drop_rings: Switch
    """Write groups whose rings a .fbuf cannot express without rings: one ring along the routes."""


class FidelityWords(TypedDict, total=False):
    """Fidelity, and algorithm of collectives."""

    simulator: Annotated[str, Word("packet|flow|analytic|auto")]
    """analytic: first come, first served on each link, fast; flow: max-min fair rates; packet: every packet
    through every queue; auto: analytic where there is no contention, else flow, with the expected error (default:
    packet for a .fbuf or with a packet option, else auto)."""
    steady_state: Switch
    """Report the mean of the middle iterations of 4 overlapping ones of a plan."""
    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """stepped: rings in rounds that wait for each other. bulk: one flow for all rounds (FlexNet's way). ring is
    stepped; the others schedule an AllReduce, pairwise an all-to-all, transfer by transfer. auto: for each group
    and size the fastest in closed form on the network's paths (default: that of the plan or its traces, else
    stepped)."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of paths, ties and wirings; the same seed gives the same bytes."""


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
    """Simulate a plan or a task graph. Bytes are per iteration, also in the steady state."""
    check_files(files, sources)
    log_flows = True if "flows" in files else None
    with progress("simulating") as report:
        run = topoopt.simulate(sources, log_flows=log_flows, on_progress=report, **how, **words)
    write_files(run, files)
    show(run, as_json)


def check_files(files: SimulationFiles, sources: Sequence[str]) -> None:
    """Refuse, before the work, files that could not be written after it.

    Raises
    ------
    InvalidInput
        For a place that cannot be written, a wrong suffix, one place for two files, or that of a source.
    """
    places = {name: str(path) for name, path in files.items() if name != "drop_rings"}
    for name, path in places.items():
        check = check_table if name in TABLES else check_writable
        check(path, as_flag(name))
    graph = files.get("write_fbuf")
    if graph is not None and not graph.lower().endswith(PACKED):
        raise InvalidInput(f"--write-fbuf: {graph}: expected a file name that ends in {' or '.join(PACKED)}")
    if graph is not None and len(sources) > 1:
        raise InvalidInput("--write-fbuf: a .fbuf holds one job; write each one on its own")
    read = {os.path.realpath(path) for path in sources}
    taken: dict[str, str] = {}
    for name, path in places.items():
        flag, place = as_flag(name), os.path.realpath(path)
        if place in read:
            raise InvalidInput(f"{flag}: {path} is what is simulated; name another file")
        if place in taken:
            raise InvalidInput(f"{flag}: {path} is the file of {taken[place]} already; name another one")
        taken[place] = flag


def write_files(run: "topoopt.Simulation", files: SimulationFiles) -> None:
    """Write the requested files; a .fbuf first, since not every simulation has one."""
    if "write_fbuf" in files:
        run.write_fbuf(files["write_fbuf"], files["drop_rings"])
    if "timeline" in files:
        run.write_timeline(files["timeline"])
    if "trace" in files:
        run.write_trace(files["trace"])
    if "flows" in files:
        write_table(files["flows"], run.FLOW_COLUMNS, run.flows())
    if "links" in files:
        write_table(files["links"], run.LINK_COLUMNS, run.links())
