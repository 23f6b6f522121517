"""``topoopt plan``, ``compare`` and ``traffic``: plan of a job, comparison of fabrics, and traffic of the job."""

import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option

import topoopt
from topoopt.base.workers import start_compiling_ahead
from topoopt.frontends.cli.exit_code import INTERRUPTED
from topoopt.frontends.cli.output import check_writable, print_json, progress, show, write_page
from topoopt.frontends.cli.word_flags import known_models, spread
from topoopt.schema.words import COLLECTIVE_FORM, File, PlanWords, TrafficWords, Word

ModelArgument = Annotated[
    str,
    Argument(
        metavar="MODEL|FILE",
        autocompletion=known_models,
        show_default=False,
        help="A model (topoopt models), the config.json of a transformer, a program of torch.export (.pt2), a model in "
        "ONNX, a job.yaml (also one that serves a model), operators (.yaml, .csv), a traffic matrix (.csv, .npy), what "
        "a run has sent (NCCL's log, traces of torch.profiler or Chakra), a profile (topoopt profile, measure_*.json). "
        "compare and traffic take a plan, too.",
    ),
]


class BesideWords(TypedDict, total=False):
    """Networks that a plan is compared with."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Baseline networks, with commas: {networks of plan}; none for none. Default: {compared by plan}."""


class CollectiveWord(TypedDict, total=False):
    """Algorithm of collectives."""

    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """AllReduce algorithm when the plan is simulated; the search uses rings. auto: for each group and size the
    fastest in closed form on the plan's links, or rings where these are faster (default: auto; stepped with
    --preset paper or released)."""


class PlanFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the plan, which report and all other verbs read."""


class ComparisonWords(TypedDict, total=False):
    """Fabrics of a comparison, and their simulation."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to compare, with commas: {networks of plan}. Default: {compared by plan}."""
    simulator: Annotated[str, Word("analytic|flow|packet")]
    """analytic: first come, first served on each link, fast; flow: max-min fair rates; packet: every packet
    through every queue (default analytic)."""
    simulators: Annotated[Sequence[str], Word("LIST", commas="simulators with commas")]
    """Simulate every network with each of these, such as flow,packet, and show the differences."""
    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """stepped: rings in rounds. bulk: one flow for all rounds (FlexNet's way). ring is stepped; the others
    schedule an AllReduce, pairwise an all-to-all, transfer by transfer. auto: for each group and size the fastest
    in closed form on the network's paths, or rings where these are faster (default: the plan's)."""


class TrafficFiles(TypedDict, total=False):
    """Output files."""

    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write every pair and every link as CSV."""
    matrix: File
    """Write the bytes of all pairs as a square CSV matrix, which this verb reads."""


@spread
def traffic(
    source: ModelArgument,
    words: TrafficWords,
    files: TrafficFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the traffic of one iteration by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network that is found for that; a transformer has the configuration that is the fastest in closed form.
    """
    csv_file, matrix = files.get("csv_file"), files.get("matrix")
    check_writable(csv_file, "--csv")
    check_writable(matrix, "--matrix")
    with progress("finding the topology") as report:
        answer = topoopt.traffic(source, on_progress=report, **words)
    if csv_file is not None:
        answer.write_csv(csv_file)
    if matrix is not None:
        answer.write_matrix(matrix)
    show(answer, as_json)


@spread
def compare(
    source: ModelArgument,
    words: PlanWords,
    how: ComparisonWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare networks for one job, each with a parallelization strategy searched for it."""
    with progress("searching") as report:
        answer = topoopt.compare(source, on_progress=report, **how, **words)
    show(answer, as_json)


@spread
def plan(
    source: ModelArgument,
    words: PlanWords,
    beside: BesideWords,
    how: CollectiveWord,
    files: PlanFiles,
    as_json: Annotated[bool, Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Optimize parallelization strategy, topology and routing together, and compare with other networks.

    For a transformer, the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.
    """
    out = files.get("out")
    check_writable(out, "--out", source)
    start_compiling_ahead()  # before all that a plan imports
    with progress("searching") as report:
        answer = topoopt.plan(source, on_progress=report, **beside, **how, **words)
    if out is not None:
        topoopt.write_plan(out, answer)
    try:
        if as_json:
            write_page(answer)
            print_json(topoopt.plan_to_mapping(answer))
        else:
            show(answer, False, _next_steps(out))
    except KeyboardInterrupt:
        if out is None:
            raise
        print(f"interrupted: the plan is in {out}", file=sys.stderr)
        raise Exit(INTERRUPTED) from None
    if answer.search.stopped_because == "interrupted":
        raise Exit(INTERRUPTED)


def _next_steps(out: str | None) -> tuple[str, ...]:
    if out is None:
        return ("To keep the plan, for pictures (topoopt report) and all other verbs: --out plan.json",)
    path = shlex.quote(out)
    return (
        f"The plan is in {out}, every split and every link. Pictures of it, as a page for the browser:",
        f"topoopt report {path}",
        f"topoopt simulate {path} --simulator flow",
        f"topoopt traffic {path}",
        f"topoopt compare {path} --simulator flow",
        f"topoopt cost {path}",
        f"topoopt fail {path} --server 0",
    )
