"""A profile as a page: device, sizes, speed of each operator, failures; and a preview of measurements."""

from collections.abc import Sequence

from topoopt.base.errors import InvalidInput
from topoopt.pages import Notes, Page, Section, Table, counted, facts, joined, number, table, text
from topoopt.plugins.profiling.run import ProfileRun
from topoopt.plugins.profiling.subject import Subject
from topoopt.transformers import find_calibration, profiled_calibration
from topoopt.workloads import DeviceProfile, MeasuredOperator, PartSize, PartTime

LARGEST_SHARE = 0.2
"""Spread above which there is a caveat."""


def profile_page(run: ProfileRun) -> Page:
    """Return a summary of the measurements; the file has all of them."""
    profile, device = run.profile, run.profile.device
    law, no_law = calibration_words(profile)
    threads = f", {counted(device.threads, 'thread')}" if device.threads else ""
    rest = {"known before": run.known, "that cannot be measured here": run.failed, "left": run.left}
    words = [f"{count:,} {what}" for what, count in rest.items() if count]
    sizes = ", ".join([f"{run.sizes:,}: {run.measured:,} measured now", *words])
    described = {
        "device": f"{device.kind}, {device.precision}{threads}, PyTorch {device.torch}",
        "in the catalogue": device.accelerator,
        "sizes": sizes,
        "as a calibration": law,
    }
    warnings = Notes((*_warnings(run), *filter(None, [no_law])), warn=True)
    measured = _operators([op for op in profile.operators if op.times])
    sections = [Section("device", "Device", "", (facts(described), *(() if measured.rows else (warnings,))))]
    if measured.rows:
        remark = "whole, where it was measured whole"
        blocks = (measured, warnings)
        sections.append(Section("operators", "Largest size of each operator", "", blocks, remark))
    return Page("profile", profile.model, sections=tuple(sections), remark=f"measured on {device.name}")


def subject_page(subject: Subject) -> Page:
    """Return a preview of the measurements."""
    sizes = table(
        "",
        subject.rows(),
        text("operator"),
        text("kind"),
        number("of it", "count"),
        number("sizes"),
        number("samples", lambda row: _range(row["fewest_samples"], row["most_samples"])),
        number("channel parts", lambda row: _range(1, row["most_channel_parts"])),
    )
    warnings = tuple(f"{name} cannot be measured: {reason}." for name, reason in subject.left_out.items())
    section = Section("sizes", "Sizes", "", (sizes, Notes(warnings, warn=True)))
    remark = f"{counted(subject.sizes, 'size')} would be measured"
    return Page("subject", subject.model, sections=(section,), remark=remark)


def calibration_words(profile: DeviceProfile) -> tuple[str, str]:
    """Return the step-time parameters from a transformer's profile, or why there are none; empty for other models."""
    if profile.source != "transformer":
        return "", ""
    device = profile.device
    if not device.accelerator:
        return "", f"{device.name} is not in topoopt hardware: the times are no calibration of step times."
    try:
        law = profiled_calibration(profile, find_calibration(device.accelerator), device.name)
    except InvalidInput as error:
        return "", f"No calibration of step times: {error}."
    kernels = law.calibration
    return (
        f"large matrix products reach {kernels.gemm_efficiency:.0%} of the peak, the attention's core "
        f"{kernels.fused_attention:.0%}, norms {kernels.memory_efficiency:.0%} of the memory's rate; the law of "
        f"products is off by {law.product_error:.1%} (median of {law.products})",
        "",
    )


def _operators(operators: Sequence[MeasuredOperator]) -> Table:
    sizes = [max(op.times, key=lambda size: (-size.channel_degree, size.samples)) for op in operators]
    times = [op.times[size] for op, size in zip(operators, sizes, strict=True)]
    return table(
        "",
        joined(operator=operators, size=sizes, time=times),
        text("operator", "operator.name"),
        text("kind", "operator.signature.kind"),
        number("of it", "operator.count"),
        number("sizes", "operator.times", lambda known: str(len(known))),
        number("samples", "size.samples", ","),
        number("forward", "time.forward_s"),
        number("backward", "time.backward_s"),
        number("spread", "time", _spread),
        number("rate", lambda row: _rate(**row)),
        number("memory", "time.memory_bytes"),
    )


def _spread(time: PartTime) -> str:
    spread_s = max(time.forward_spread_s, time.backward_spread_s)
    return f"{spread_s / max(time.forward_s + time.backward_s, 1e-12):.0%}"


def _rate(operator: MeasuredOperator, size: PartSize, time: PartTime) -> str | None:
    flops = size.samples * operator.signature.forward_flops_per_sample / size.channel_degree
    return f"{flops / time.forward_s / 1e9:,.0f} GFLOP/s" if flops and time.forward_s else None


def _warnings(run: ProfileRun) -> list[str]:
    warnings = [f"{name} was not measured: {reason}." for name, reason in run.profile.left_out.items()]
    for op in run.profile.operators:
        if op.failures:
            size, reason = min(op.failures.items())
            split = "" if size.channel_degree == 1 else f" and 1/{size.channel_degree} of {size.channel_dim}"
            warnings.append(
                f"{op.name}: {counted(len(op.failures), 'size')} failed, from {size.samples:,} samples{split} on: "
                f"{reason}."
            )
    if run.too_long:
        warnings.append(
            f"{counted(run.too_long, 'size')} would not have ended before the time limit; times beyond what was "
            "measured are extrapolated."
        )
    times = [time for op in run.profile.operators for time in op.times.values()]
    restless = sum(time.forward_spread_s > LARGEST_SHARE * time.forward_s for time in times)
    if restless * 10 > len(times):
        warnings.append(
            f"{restless:,} of {len(times):,} times spread by more than {LARGEST_SHARE:.0%}: is the device busy with "
            "something else?"
        )
    return warnings


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
