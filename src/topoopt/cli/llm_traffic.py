"""``topoopt llm traffic``: what ranks and servers send each other in one iteration of a transformer's training."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.spread import spread
from topoopt.cli.transformer_arguments import ACCELERATOR, ConfigurationArguments, TransformerArguments
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.cli.llm_traffic_result import LlmTraffic
    from topoopt.llm import ExpertLoads, Ints
    from topoopt.transformer import TransformerModel

BY = ("server", "rank", "kind")
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
    said: TransformerArguments,
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
    from topoopt.cli.llm_traffic_files import check_heat_map, write_csv, write_heat_map
    from topoopt.cli.llm_traffic_report import print_traffic, traffic_document
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal

    if by not in BY:
        raise unknown_name("--by", by, BY)
    check_writable(csv_file, "--csv", said.model, expert.loads, where.slots)
    check_heat_map(heat_map, by)
    with progress("counting"):
        found = _traffic(said, split, where, expert, by)
        document = traffic_document(found)
    drawn = () if heat_map is None else write_heat_map(heat_map, found)
    if csv_file is not None:
        write_csv(csv_file, found)
    if as_json:
        print_json(document)
    else:
        print_traffic(terminal(), found, tuple(name for name in (csv_file, *drawn) if name))


def _traffic(
    said: TransformerArguments,
    split: ConfigurationArguments,
    where: RankArguments,
    expert: LoadArguments,
    by: str,
) -> "LlmTraffic":
    from topoopt.cli.llm_traffic_result import LlmTraffic
    from topoopt.cli.transformer_arguments import requested_configuration, requested_model
    from topoopt.llm import communications

    model = requested_model(said)
    configuration = requested_configuration(model, split, where.accelerators, where.accelerator)
    places = _places(where, configuration.accelerators)
    sent = communications(model, configuration, _loads(model, expert), where.order)
    return LlmTraffic(model, configuration, where.order, expert.loads, expert.iteration, sent, places, by)


def _places(where: RankArguments, accelerators: int) -> "Ints":
    from topoopt.cli.transformer_arguments import accelerators_of_a_server
    from topoopt.hardware import find_accelerator
    from topoopt.llm import place_ranks

    part = find_accelerator(where.accelerator)
    size = where.accelerators_per_server
    if size is not None and size < 1:
        raise InvalidInput(f"--accelerators-per-server: expected an integer >= 1, got {size}")
    per_server = accelerators_of_a_server(part) if size is None else size
    return place_ranks(accelerators, per_server, None if where.slots is None else _slots(where.slots))


def _slots(path: str) -> list[int]:
    from topoopt.files import read_text

    words = read_text(path).replace(",", " ").split()
    wrong = [word for word in words if not word.isdecimal()]
    if wrong:
        raise InvalidInput(f'{path}: expected the accelerator of each rank, numbers from 0, got "{wrong[0]}"')
    return [int(word) for word in words]


def _loads(model: "TransformerModel", expert: LoadArguments) -> "ExpertLoads | None":
    from topoopt.llm import find_loads

    for flag, value in (("--iteration", expert.iteration), ("--seed", expert.seed)):
        if value < 0:
            raise InvalidInput(f"{flag}: must be >= 0, got {value}")
        if value and expert.loads is None:
            raise InvalidInput(f"{flag}: is for loads that change; give --loads zipf or a file, too")
    return None if expert.loads is None else find_loads(expert.loads, model, expert.iteration, expert.seed)
