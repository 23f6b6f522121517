"""A profile as a page: on what, how many sizes, how fast each operator is, what failed; and what would be measured."""

from topoopt.errors import InvalidInput
from topoopt.llm import find_calibration, profiled_calibration
from topoopt.profile import ProfileRun, Subject
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table
from topoopt.report.words import counted
from topoopt.units import format_bytes, format_time
from topoopt.workload import DeviceProfile, MeasuredOperator, PartSize

COLUMNS = ("operator", "kind", "of it", "sizes", "samples", "forward", "backward", "spread", "rate", "memory")
LARGEST_SHARE = 0.2
"""A spread above it is worth a word."""


def profile_page(run: ProfileRun) -> Page:
    """Return what was measured, in short; every measurement is in the file."""
    profile, device = run.profile, run.profile.device
    law, no_law = calibration_words(profile)
    threads = f", {counted(device.threads, 'thread')}" if device.threads else ""
    facts = Facts(
        "",
        (
            ("device", f"{device.kind}, {device.precision}{threads}, PyTorch {device.torch}"),
            ("in the catalogue", device.accelerator),
            ("sizes", _sizes(run)),
            ("as a calibration", law),
        ),
    )
    warnings = Notes((*_warnings(run), *filter(None, [no_law])), warn=True)
    rows = tuple(_row(op) for op in profile.operators if op.times)
    device_blocks: tuple[Block, ...] = (facts,) if rows else (facts, warnings)
    sections = [Section("device", "Device", "", device_blocks)]
    if rows:
        table = Table("", COLUMNS, rows, COLUMNS[2:])
        remark = "whole, where it was measured whole"
        sections.append(Section("operators", "Largest size of each operator", "", (table, warnings), remark))
    return Page("profile", profile.model, "", (), (), tuple(sections), remark=f"measured on {device.name}")


def subject_page(subject: Subject) -> Page:
    """Return what would be measured."""
    columns = ("operator", "kind", "of it", "sizes", "samples", "channel parts")
    cells = tuple(
        (
            row["operator"],
            row["kind"],
            str(row["count"]),
            str(row["sizes"]),
            _range(row["fewest_samples"], row["most_samples"]),
            _range(1, row["most_channel_parts"]),
        )
        for row in subject.rows()
    )
    warnings = tuple(f"{name} cannot be measured: {reason}." for name, reason in subject.left_out.items())
    blocks = (Table("", columns, cells, columns[2:]), Notes(warnings, warn=True))
    remark = f"{counted(subject.sizes, 'size')} would be measured"
    return Page("subject", subject.model, "", (), (), (Section("sizes", "Sizes", "", blocks),), remark=remark)


def calibration_words(profile: DeviceProfile) -> tuple[str, str]:
    """Return what a transformer's profile says of step times, or why it says nothing; nothing of other models."""
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
        f"{kernels.attention_efficiency:.0%}, norms {kernels.memory_efficiency:.0%} of the memory's rate; the law of "
        f"products is off by {law.product_error:.1%} (median of {law.products})",
        "",
    )


def _sizes(run: ProfileRun) -> str:
    words = [f"{run.sizes:,}: {run.measured:,} measured now"]
    if run.known:
        words.append(f"{run.known:,} known before")
    if run.failed:
        words.append(f"{run.failed:,} that cannot be measured here")
    if run.left:
        words.append(f"{run.left:,} left")
    return ", ".join(words)


def _row(op: MeasuredOperator) -> tuple[str, ...]:
    size = _shown_size(op)
    time = op.times[size]
    spread_s = max(time.forward_spread_s, time.backward_spread_s)
    flops = size.samples * op.signature.forward_flops_per_sample / size.channel_degree
    return (
        op.name,
        op.signature.kind,
        str(op.count),
        str(len(op.times)),
        f"{size.samples:,}",
        format_time(time.forward_s),
        format_time(time.backward_s),
        f"{spread_s / max(time.forward_s + time.backward_s, 1e-12):.0%}",
        f"{flops / time.forward_s / 1e9:,.0f} GFLOP/s" if flops and time.forward_s else "–",
        format_bytes(time.memory_bytes),
    )


def _shown_size(op: MeasuredOperator) -> PartSize:
    return max(op.times, key=lambda size: (-size.channel_degree, size.samples))


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
