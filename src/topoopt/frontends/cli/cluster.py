"""``topoopt cluster``: many jobs over time, on shards of their own or on a fabric that they share."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.workers import start_compiling_ahead
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.verbs import group, lines_of
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import ClusterWords, File, Word


class CourseWords(TypedDict, total=False):
    """Fabrics of the course."""

    fabrics: Annotated[Sequence[str], Word("LIST", names=("fabric", "fabrics"))]
    """Networks to compare, with commas: {networks of cluster}. Jobs have links of their own on topoopt and
    topoopt-ocs, and share links on the others. Default: {compared by cluster}. With --scheduler, one network:
    cassini-24, or one with shared links."""
    prices: Annotated[str, Word("2026|2025|2022|FILE", "2026")]
    """Price list, or a file that overrides rows of one, as in 2025,mine.csv; alone it overrides 2026."""


class ClusterFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the result as JSON, for topoopt report."""


@spread
def run(
    words: ClusterWords,
    course: CourseWords,
    files: ClusterFiles,
    trace: Annotated[
        str | None,
        Argument(
            metavar="TRACE.csv",
            show_default=False,
            help="Trace file with one row per job; see examples/trace.csv.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with every job.")] = False,
) -> None:
    """Simulate a trace of jobs on a cluster, and report iteration, completion and waiting times on each network."""
    out = files.get("out")
    check_writable(out, "--out", trace)
    check_writable(words.get("save_trace"), "--save-trace")
    if "scheduler" not in words:
        start_compiling_ahead()  # before all that a run imports
    with progress("planning jobs") as report:
        result = topoopt.cluster.run(trace, on_progress=report, **course, **words)
    if out is not None:
        topoopt.write_cluster_result(out, result)
    show(result, as_json)


CLUSTER_VERBS = lines_of(run)
"""Verbs of the group."""
cluster = group(
    "topoopt.frontends.cli.cluster:",
    CLUSTER_VERBS,
    "Many jobs over time: arrivals, queueing, placement and wiring, on TopoOpt and on shared networks.",
)
