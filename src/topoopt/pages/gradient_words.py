"""What a plan says of its gradients: in buckets of which size, by which algorithms, and what that saves."""

from topoopt.base.units import format_time
from topoopt.jobs import DDP_BUCKET_BYTES, NO_BUCKETS, bucket_text
from topoopt.pages.rows import Entries
from topoopt.plans import Plan


def gradient_facts(plan: Plan) -> Entries:
    """Return buckets and algorithms of a plan whose gradients are AllReduced."""
    if not plan.traffic().allreduce:
        return {}
    return {"buckets": _buckets(plan), **_algorithms(plan)}


def _buckets(plan: Plan) -> str:
    own, tried = plan.job.settings.bucket_bytes, dict(plan.gradients.bucket_times_s)
    what = "none: an AllReduce for each tensor" if own == NO_BUCKETS else bucket_text(own)
    if not tried:
        return what
    others = {NO_BUCKETS: "one for each tensor", DDP_BUCKET_BYTES: "25 MiB (PyTorch)"}
    if own not in tried:  # settled with another wiring than the one that the times are of
        return what
    times = [
        f"{text} {format_time(tried[size])}" for size, text in others.items() if size != own and size in tried
    ]
    fastest = "" if tried[own] == min(tried.values()) else "as fast within 0.1% as "
    return "; ".join(
        [
            f"{what}, {fastest}the fastest of {len(tried)} sizes: {format_time(tried[own])}",
            *filter(None, [", ".join(times)]),
        ]
    )


def _algorithms(plan: Plan) -> Entries:
    choice, used = plan.gradients, plan.outcome.algorithms
    if choice.by_message_s is None or choice.rings_s is None:
        return (
            {"collectives": ", ".join(f"{count} by {name}" for name, count in used.items())} if used else {}
        )
    if not used:
        by_message = format_time(choice.by_message_s)
        gain = "saves less than 1%" if choice.by_message_s < choice.rings_s else "is not faster"
        return {"collectives": f"rings; an algorithm for each message {gain} ({by_message})"}
    rows = ", ".join(f"{count} by {name}" for name, count in used.items())
    return {"collectives": f"{rows}; rings alone take {format_time(choice.rings_s)}"}
