"""The files of a simulation: timeline, trace, flows, links, and a task graph for FlexNetPacket."""

import csv
import io
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from topoopt.cli.output_file import check_writable
from topoopt.cli.simulation_arguments import FileArguments
from topoopt.cli.simulation_document import links_of_an_iteration
from topoopt.cli.simulation_run import Ran
from topoopt.cli.simulation_source import PACKED, is_fbuf
from topoopt.cli.table_file import check_table, write_table
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.simulate import FlexNetGraph, SimResult


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
    if files.write_fbuf is not None and not is_fbuf(files.write_fbuf):
        raise InvalidInput(
            f"--write-fbuf: {files.write_fbuf}: expected a file name that ends in {' or '.join(PACKED)}"
        )
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


def write_files(ran: Ran, files: FileArguments, flexnet: "FlexNetGraph | None") -> None:
    """Write what was asked for; ``flexnet`` is the task graph for ``--write-fbuf``."""
    from topoopt.files import write_atomically
    from topoopt.simulate import FlowRow, LinkRow, chrome_trace, flow_rows, write_fbuf

    if files.timeline is not None:
        write_atomically(files.timeline, _timeline(ran.result))
    if files.trace is not None:
        names = " + ".join(source.name for source in ran.sources)
        trace = chrome_trace(ran.result, f"{names} on {ran.fabric.name}")
        write_atomically(files.trace, json.dumps(trace, separators=(",", ":"), allow_nan=False))
    if files.flows is not None:
        write_table(files.flows, FlowRow._fields, flow_rows(ran.result, ran.fabric))
    if files.links is not None:
        write_table(files.links, LinkRow._fields, links_of_an_iteration(ran))
    if files.write_fbuf is not None:
        assert flexnet is not None
        write_fbuf(flexnet, files.write_fbuf)


def _timeline(result: "SimResult") -> str:
    from topoopt.simulate import TimelineRow, timeline

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TimelineRow._fields)
    writer.writerows(timeline(result))
    return text.getvalue()
