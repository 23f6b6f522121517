"""``topoopt topology`` and ``topoopt collective``: the best wiring of servers, and a collective on it."""

from typing import Annotated, TypedDict

from typer import Argument, Exit, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.exit_code import INTERRUPTED
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_atomically
from topoopt.schema.words import CollectiveWords, File, WiringWords, Word, panel

FORMATS = ("msccl",)


@panel("Export")
class ExportWords(TypedDict, total=False):
    """Output files."""

    export: Annotated[str, Word("msccl")]
    """Write the schedule for other programs: MSCCL's XML, checked by running it."""
    out: File
    """File to write."""


class RingWords(TypedDict, total=False):
    """Choice of rings."""

    servers: int
    """Number of servers; required without a wiring file."""
    degree: int
    """Ports per server; not needed with a list of strides."""
    links: Annotated[str, Word("duplex|directed")]
    """duplex: a port is a fiber pair to one neighbor; directed: it sends to one and receives from another (default
    duplex)."""
    strides: Annotated[str, Word("best|nearest|lower-bound|LIST", "best")]
    """Rings along strides, instead of any wiring: the rule that selects them, or the strides, such as 1,13."""


class TopologyFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the wiring, with its rings and the port of every cable end, for this verb to read."""
    plot: Annotated[str, Word("FILE.html|png|svg|pdf")]
    """Draw the wiring on a circle, up to 1,024 servers."""


@spread
def topology(
    rings: RingWords,
    words: WiringWords,
    files: TopologyFiles,
    file: Annotated[
        str | None,
        Argument(metavar="[FILE]", help="A wiring file, list of links or plan to read.", show_default=False),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the best wiring, or AllReduce rings along strides, and show its properties.

    All families of wirings are compared, and unions of Hamiltonian cycles with few hops are searched for; Ctrl-C keeps
    the best so far. With --wirings strides, a rule or a list of strides it is rings, as in the paper.
    """
    out, plot = files.get("out"), files.get("plot")
    check_writable(out, "--out", file)
    check_writable(plot, "--plot", file)
    if plot is not None:
        topoopt.check_chart_file(plot)
    with progress("choosing strides") as report:
        network = topoopt.topology(file=file, on_progress=report, **rings, **words)
    if out is not None:
        topoopt.write_wiring(out, network)
    if plot is not None:
        topoopt.write_chart(plot, topoopt.topology_chart(network))
    show(network, as_json, written=() if as_json else (out, plot))
    if isinstance(network, topoopt.WiringAnswer) and network.interrupted:
        raise Exit(INTERRUPTED)


@spread
def collective(
    words: CollectiveWords,
    files: ExportWords,
    op: Annotated[
        str | None,
        Option(
            metavar="NAME", show_default=False, help="allreduce, all-gather, reduce-scatter or all-to-all."
        ),
    ] = None,
    bytes: Annotated[
        str | None, Option(metavar="SIZE", show_default=False, help="Message size, such as 1MB.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time a collective on a wiring or on accelerators, by every algorithm, and find the fastest."""
    out = files.get("out")
    if ("export" in files) != (out is not None):
        raise InvalidInput("--export: goes with --out; give both, such as --export msccl --out schedule.xml")
    if files.get("export", FORMATS[0]) not in FORMATS:
        raise InvalidInput(f"--export: expected {' or '.join(FORMATS)}, got {files['export']}")
    check_writable(out, "--out", words.get("wiring"))  # type: ignore[arg-type]
    with progress("comparing schedules"):
        answer = topoopt.collective(op, bytes, **words)
    if out is not None:
        if not isinstance(answer, topoopt.CollectiveAnswer):
            raise InvalidInput("--export: is of a wiring of servers; leave out --accelerators and --runs")
        with progress("running the file that is written"):
            text = answer.msccl()
        write_atomically(out, text)
    show(answer, as_json, written=(out,))
