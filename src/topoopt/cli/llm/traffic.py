"""``topoopt llm traffic``: what ranks and servers send each other in one iteration of a transformer's training."""

from dataclasses import dataclass
from typing import Annotated

import typer

import topoopt
from topoopt.cli.llm.arguments import ACCELERATOR, ConfigurationArguments, TransformerArguments
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.spread import spread
from topoopt.cli.words import words

RANKS, EXPERTS, OUTPUT = "Ranks and servers", "Loads of experts", "Output"


@dataclass(frozen=True, slots=True)
class RankArguments:
    """How ranks are numbered, and where they run."""

    accelerators: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel=RANKS, help="Accelerators; the product of the degrees with --dp."
        ),
    ] = None
    accelerator: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=RANKS, help="Says how many share a server.")
    ] = ACCELERATOR
    accelerators_per_server: Annotated[
        int | None, typer.Option(metavar="N", rich_help_panel=RANKS, help="If not as the accelerator has it.")
    ] = None
    order: Annotated[
        str,
        typer.Option(
            metavar="WORDS", rich_help_panel=RANKS, help="Which degree numbers ranks fastest, and so on."
        ),
    ] = "tp-cp-ep-dp-pp"
    slots: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RANKS,
            help="The accelerator of each rank, a number a line; in order if not given.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class LoadArguments:
    """How tokens are spread over the experts."""

    loads: Annotated[
        str | None,
        typer.Option(
            metavar="uniform|zipf[:A]|FILE.csv",
            rich_help_panel=EXPERTS,
            help="Even (if not given); the r-th busiest as r^-A; a file of layer, expert, share[, iteration].",
        ),
    ] = None
    iteration: Annotated[
        int,
        typer.Option(
            metavar="I", rich_help_panel=EXPERTS, help="Loads change, and grow more even, over iterations."
        ),
    ] = 0
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=EXPERTS, help="Of the loads.")] = 0


@spread
def traffic(
    transformer: TransformerArguments,
    split: ConfigurationArguments,
    where: RankArguments,
    expert: LoadArguments,
    by: Annotated[
        str,
        typer.Option(
            metavar="server|rank|kind",
            rich_help_panel=OUTPUT,
            help="Matrix of servers, without what stays inside them; of ranks; of servers for each kind.",
        ),
    ] = "server",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the matrix, as topoopt plan FILE.csv reads it; by kind as rows kind,src,dst,bytes.",
        ),
    ] = None,
    heat_map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw the matrix: .png, .svg, .pdf, or .html with tables.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Show what an iteration sends, exactly and without running it: by kind, by rank, between servers.

    Tensor, context, expert, pipeline and data parallel messages, their sizes and counts.
    """
    check_writable(csv_file, "--csv", transformer.source, expert.loads, where.slots)
    if heat_map is not None:
        check_writable(heat_map, "--heat-map")
        topoopt.llm.picture_format(heat_map)
    with progress("counting"):
        answer = topoopt.llm.traffic(transformer.source, by=by, **words(transformer, split, where, expert))
    drawn = () if heat_map is None else topoopt.llm.draw_rank_traffic(heat_map, answer)
    if csv_file is not None:
        answer.write_csv(csv_file)
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer, written=(csv_file, *drawn))
