"""What a reader should know before believing the numbers of a plan."""

from collections import Counter

from topoopt.hardware import find_accelerator
from topoopt.job import layout_of
from topoopt.plan import Plan
from topoopt.search.start import fullest_server
from topoopt.units import format_bytes
from topoopt.workload import DeviceProfile


def caveats(plan: Plan) -> tuple[str, ...]:
    """Return sentences: what does not fit in memory, was not measured, or was broken off; none where all is well."""
    found = []
    if plan.job.training is not None:
        found += _layout_caveats(plan)
    elif plan.job.settings.memory_check != "off":
        use, part = fullest_server(plan.job, plan.strategy), find_accelerator(plan.job.cluster.accelerator)
        if use.total_bytes > part.memory_bytes:
            found.append(
                f"Does not fit in memory: an accelerator of server {use.server} needs "
                f"{format_bytes(use.total_bytes)}, {part.name} has {format_bytes(part.memory_bytes)}. "
                "With --memory-check enforce only what fits is searched."
            )
    found += _foreign_times(plan)
    beyond = sum(count for source, count in time_sources(plan).items() if "extrapolated" in source)
    if beyond:
        times = "Times of 1 operator lie" if beyond == 1 else f"Times of {beyond} operators lie"
        found.append(f"{times} outside the measured range and are extrapolated.")
    if plan.search.stopped_because == "interrupted":
        found.append("The search was interrupted: this is the best that it had found.")
    return tuple(found)


def _foreign_times(plan: Plan) -> list[str]:
    part = find_accelerator(plan.job.cluster.accelerator).name
    return [
        f"Operator times were measured on {profile.device.name} ({profile.device.kind}), not on the cluster's {part}."
        for profile in plan.job.profiles
        if isinstance(profile, DeviceProfile) and profile.device.accelerator != part
    ]


def _layout_caveats(plan: Plan) -> list[str]:
    layout, training = layout_of(plan.job, plan.strategy), plan.job.training
    assert training is not None
    if layout.total_memory_bytes <= training.capacity_bytes:
        return []
    return [
        f"Does not fit in memory: an accelerator needs {format_bytes(layout.total_memory_bytes)} and has "
        f"{format_bytes(training.capacity_bytes)}."
    ]


def time_sources(plan: Plan) -> Counter[str]:
    """Return how many operators have their time from which source."""
    return Counter(plan.job.time(index, split).source for index, split in enumerate(plan.strategy.splits))
