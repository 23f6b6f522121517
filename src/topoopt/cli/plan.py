"""``topoopt plan``: from a model and a cluster to a plan."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.word_list import listed

if TYPE_CHECKING:
    from topoopt.job import JobRequest

FABRICS_HELP = (
    "Baselines, with commas: ideal-switch, fat-tree, oversub-fat-tree, expander, torus, full-mesh, rail, sip-ml, "
    "ocs-reconfig, mixnet."
)
DEFAULT_HELP = "If not given the first five, for a transformer rail, too"
PRICES_HELP = "Price list: 2022, 2025 or a file of your own."
SUITED_PRICES_HELP = f"{PRICES_HELP} If not given 2022, or 2025 for ports faster than those of 2022."
INTERRUPTED = 130


@spread
def plan(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    search: SearchArguments,
    fabrics: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help=f"{FABRICS_HELP} {DEFAULT_HELP}; none for none.",
        ),
    ] = None,
    prices: Annotated[str | None, typer.Option(metavar="2022|2025|FILE", help=SUITED_PRICES_HELP)] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the plan, for report and all other verbs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Find strategy, topology and routing together, and say what they are worth.

    Of a transformer the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.
    """
    from topoopt.cli.job_arguments import read_request
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.plan_report import print_plan
    from topoopt.cli.planned import asked_job
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.search_arguments import search_options
    from topoopt.cost import suited_prices
    from topoopt.plan import plan_to_mapping, write_plan
    from topoopt.search import make_plan, start_compiling_ahead

    check_writable(out, "--out", job.source)
    options, request = search_options(read_request(job, training), finder, search)
    start_compiling_ahead()
    with progress("searching") as report:
        asked = asked_job(request, search, report)
        made = make_plan(
            asked,
            options,
            fabrics=listed(fabrics),
            prices=suited_prices(asked.cluster.link_bandwidth_bps) if prices is None else prices,
            inputs=request.input_digests(),
            on_progress=report,
        )
    if out is not None:
        write_plan(out, made)
    if as_json:
        print_json(plan_to_mapping(made))
    else:
        print_plan(terminal(), made, _remarks(request, made.job.graph.name), _next_steps(out))
    if made.search.stopped_because == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _remarks(request: "JobRequest", model: str) -> list[tuple[str, str]]:
    """Return where the model, by its variant's name, and its times come from, in words."""
    from topoopt.search import is_transformer
    from topoopt.workload import MODELS, resolve_variant

    if is_transformer(request):
        return [("model", f"from {request.config}")] if request.config else []
    profile = ("profile", request.profile)
    file = request.operators or request.traffic or (not request.model and request.profile)
    if file:
        said = ("traffic" if request.traffic else "model", f"from {file}")
        return [said, profile] if request.operators else [said]
    name, variant = resolve_variant(model)
    changes = dict(request.hyperparameters)
    if request.batch_per_accelerator:
        changes["batch_per_accelerator"] = request.batch_per_accelerator
    changed = ", ".join(f"{key}={value}" for key, value in changes.items())
    return [
        ("model", f"{MODELS[name].title}, {variant.name}: {variant.description}"),
        ("changed", changed),
        profile,
    ]


def _next_steps(out: str | None) -> list[str]:
    if out is None:
        return ["To keep the plan, for pictures (topoopt report) and all other verbs: --out plan.json"]
    path = shlex.quote(out)
    return [
        f"The plan is in {out}, every split and every link. Pictures of it, as a page for the browser:",
        f"topoopt report {path}",
        f"topoopt simulate {path} --simulator flow",
        f"topoopt traffic {path}",
        f"topoopt compare {path} --simulator flow",
        f"topoopt cost {path}",
        f"topoopt fail {path} --server 0",
    ]
