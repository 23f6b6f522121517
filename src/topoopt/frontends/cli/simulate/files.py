"""The files of a simulation: timeline, trace, flows, links, and a task graph for FlexNetPacket."""

import os
from collections.abc import Sequence
from typing import TypedDict

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output_file import check_table, check_writable
from topoopt.schema.files import write_table
from topoopt.schema.words import File, Switch, panel

PACKED = (".fbuf", ".fbuf.xz")
TABLES = ("flows", "links")


@panel("Files")
class SimulationFiles(TypedDict, total=False):
    """What is written."""

    timeline: File
    """Who did what when, as CSV."""
    trace: File
    """The same task by task, as a trace for Perfetto (JSON)."""
    flows: File
    """Flow completion times, as .csv or .parquet (which needs topoopt[parquet])."""
    links: File
    """What links and queues saw, likewise."""
    write_fbuf: File
    """Tasks and fabric as .fbuf or .fbuf.xz, for the authors' simulator to replay."""
    drop_rings: Switch
    """Write groups whose rings a .fbuf cannot hold without rings: one along the routes."""


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
        check(path, _flag(name))
    graph = files.get("write_fbuf")
    if graph is not None and not graph.lower().endswith(PACKED):
        raise InvalidInput(f"--write-fbuf: {graph}: expected a file name that ends in {' or '.join(PACKED)}")
    if graph is not None and len(sources) > 1:
        raise InvalidInput("--write-fbuf: a .fbuf holds one job; write each one on its own")
    read = {os.path.realpath(path) for path in sources}
    taken: dict[str, str] = {}
    for name, path in places.items():
        flag, place = _flag(name), os.path.realpath(path)
        if place in read:
            raise InvalidInput(f"{flag}: {path} is what is simulated; name another file")
        if place in taken:
            raise InvalidInput(f"{flag}: {path} is the file of {taken[place]} already; name another one")
        taken[place] = flag


def write_files(run: "topoopt.Simulation", files: SimulationFiles) -> None:
    """Write what was asked for; a .fbuf first, which not every simulation can be."""
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


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
