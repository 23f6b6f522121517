"""The files of a simulation: timeline, trace, flows, links, and a task graph for FlexNetPacket."""

import os
from collections.abc import Sequence

import topoopt
from topoopt.cli.output_file import check_writable
from topoopt.cli.simulate.arguments import FileArguments
from topoopt.cli.table_file import check_table, write_table
from topoopt.errors import InvalidInput

PACKED = (".fbuf", ".fbuf.xz")


def check_files(files: FileArguments, sources: Sequence[str]) -> None:
    """Refuse, before the work, files that could not be written after it.

    Raises
    ------
    InvalidInput
        For a place that cannot be written, a wrong suffix, one place for two files, or that of a source.
    """
    check_writable(files.timeline, "--timeline")
    check_writable(files.trace, "--trace")
    check_table(files.flows, "--flows")
    check_table(files.links, "--links")
    check_writable(files.write_fbuf, "--write-fbuf")
    if files.write_fbuf is not None and not files.write_fbuf.lower().endswith(PACKED):
        raise InvalidInput(
            f"--write-fbuf: {files.write_fbuf}: expected a file name that ends in {' or '.join(PACKED)}"
        )
    if files.write_fbuf is not None and len(sources) > 1:
        raise InvalidInput("--write-fbuf: a .fbuf holds one job; write each one on its own")
    flags = {name: getattr(files, name) for name in ("timeline", "trace", "flows", "links", "write_fbuf")}
    read = {os.path.realpath(path) for path in sources}
    taken: dict[str, str] = {}
    for name, path in flags.items():
        if path is None:
            continue
        flag, place = "--" + name.replace("_", "-"), os.path.realpath(path)
        if place in read:
            raise InvalidInput(f"{flag}: {path} is what is simulated; name another file")
        if place in taken:
            raise InvalidInput(f"{flag}: {path} is the file of {taken[place]} already; name another one")
        taken[place] = flag


def write_files(run: "topoopt.Simulation", files: FileArguments) -> None:
    """Write what was asked for; a .fbuf first, which not every simulation can be."""
    if files.write_fbuf is not None:
        run.write_fbuf(files.write_fbuf, files.drop_rings)
    if files.timeline is not None:
        run.write_timeline(files.timeline)
    if files.trace is not None:
        run.write_trace(files.trace)
    if files.flows is not None:
        write_table(files.flows, run.FLOW_COLUMNS, run.flows())
    if files.links is not None:
        write_table(files.links, run.LINK_COLUMNS, run.links())
