"""What a plan says of a transformer: its size, the configuration, those that were tried, what it reaches."""

from typing import TYPE_CHECKING

from topoopt.units import format_time

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.job import Training
    from topoopt.plan import Plan

Facts = list[tuple[str, str]]


def training_facts(training: "Training") -> Facts:
    """Return the size of the model and what its times rest on."""
    model = training.model
    heads = f"{model.heads} heads" + (f" ({model.kv_heads} of keys)" if model.kv_heads != model.heads else "")
    size = (
        f"{_count(training.parameters)} parameters, {model.layers} layers, hidden {model.hidden:,}, {heads}"
    )
    experts = (
        "" if model.experts is None else f", {model.experts.count} experts, {model.experts.per_token} a token"
    )
    return [("size", size + experts), ("step times", training.calibration)]


def print_layout(console: "Console", plan: "Plan") -> None:
    """Print the chosen configuration, and all that were wired."""
    from topoopt.cli.render import counted, print_facts, print_table, print_title
    from topoopt.search import LAYOUT_COLUMNS, layout_table, layout_words
    from topoopt.units import format_bytes

    traffic = plan.traffic()
    moved = (
        f"{format_bytes(traffic.allreduce_bytes)} AllReduced in {counted(len(traffic.allreduce), 'group')} of servers, "
        f"{format_bytes(traffic.mp_bytes)} from server to server"
    )
    print_title(console, "Configuration", plan.job.training.layouts[plan.strategy.layout].name)  # type: ignore[union-attr]
    print_facts(console, [*layout_words(plan), ("traffic", moved)])
    print_title(console, "Configurations tried", "each on a network wired for it")
    print_table(console, LAYOUT_COLUMNS, layout_table(plan), numbers=LAYOUT_COLUMNS[1:])


def rates(plan: "Plan") -> Facts:
    """Return tokens per second and utilization of a transformer's plan, nothing for any other."""
    from topoopt.job import job_mfu

    if plan.job.training is None:
        return []
    time_s = plan.outcome.iteration_time_s
    return [
        ("tokens", f"{plan.job.training.tokens_per_s(time_s):,.0f} a second"),
        ("MFU", f"{job_mfu(plan.job, time_s):.1%} of the {plan.job.settings.precision} peak"),
    ]


def layout_search(plan: "Plan") -> Facts:
    """Return how the configurations were found."""
    from topoopt.cli.render import counted

    record, training = plan.search, plan.job.training
    assert training is not None
    first_s, best_s = record.seed_times_s[0], plan.outcome.iteration_time_s
    gained = f"the first in closed form takes {format_time(first_s)}, {first_s / best_s:.2f} × as long"
    if plan.strategy.layout == 0:
        gained = "nothing over the closed form, whose first it is"
    return [
        ("ranked", f"{training.considered:,} configurations that fit in memory, in closed form"),
        ("wired", f"{counted(len(record.seed_times_s), 'configuration')}, {record.proposals} networks"),
        ("stopped", record.stopped_because),
        ("gained", gained),
        ("seed", str(plan.provenance.seed)),
    ]


def _count(parameters: int) -> str:
    """Return ``70.6 billion`` or ``345 million``."""
    word, scale = ("billion", 1e9) if parameters >= 1e9 else ("million", 1e6)
    return f"{parameters / scale:,.3g} {word}"
