"""``topoopt plan``: from a model and a cluster to a plan."""

import shlex
from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option

import topoopt
from topoopt.base.workers import start_compiling_ahead
from topoopt.frontends.cli.exit_code import INTERRUPTED
from topoopt.frontends.cli.output import check_writable, print_json, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import COLLECTIVE_FORM, File, PlanWords, Word

ModelArgument = Annotated[
    str,
    Argument(
        metavar="MODEL|FILE",
        show_default=False,
        help="A model (topoopt models), the config.json of a transformer, a program of torch.export (.pt2), a model in "
        "ONNX, a job.yaml (also one that serves a model), operators (.yaml, .csv), a traffic matrix (.csv, .npy), what "
        "a run has sent (NCCL's log, traces of torch.profiler or Chakra), a profile (topoopt profile, measure_*.json). "
        "compare and traffic take a plan, too.",
    ),
]


class BesideWords(TypedDict, total=False):
    """What a plan is compared with."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Baselines, with commas: {networks of plan}; none for none. Default: {compared by plan}."""


class CollectiveWord(TypedDict, total=False):
    """How collectives run."""

    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """How AllReduces run when the plan is simulated; it is searched with rings. auto: by group and size, the quickest
    in closed form on the plan's links, or rings where these are faster. If not given auto, stepped with --preset paper
    or released."""


class PlanFiles(TypedDict, total=False):
    """What is written."""

    out: File
    """Write the plan, for report and all other verbs."""


@spread
def plan(
    source: ModelArgument,
    words: PlanWords,
    beside: BesideWords,
    how: CollectiveWord,
    files: PlanFiles,
    as_json: Annotated[bool, Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Find strategy, topology and routing together, and say what they are worth.

    Of a transformer the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.
    """
    out = files.get("out")
    check_writable(out, "--out", source)
    start_compiling_ahead()  # before all that a plan imports
    with progress("searching") as report:
        answer = topoopt.plan(source, on_progress=report, **beside, **how, **words)
    if out is not None:
        topoopt.write_plan(out, answer)
    if as_json:
        print_json(topoopt.plan_to_mapping(answer))
    else:
        show(answer, False, _next_steps(out))
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
