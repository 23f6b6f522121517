"""A profile as a person reads it: on what, how many sizes, how fast each operator is, what failed."""

import shlex
from typing import TYPE_CHECKING, Any

from topoopt.cli.render import counted
from topoopt.units import format_bytes, format_time

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.profile import ProfileRun, Subject
    from topoopt.workload import DeviceProfile, MeasuredOperator, PartSize

COLUMNS = ("operator", "kind", "of it", "sizes", "samples", "forward", "backward", "spread", "rate", "memory")
LARGEST_SHARE = 0.2
"""A spread above it is worth a word."""


def print_profile(console: "Console", run: "ProfileRun", source: str, out: str | None) -> None:
    """Print what was measured, in short; every measurement is in the file."""
    from topoopt.cli.render import print_facts, print_table, print_title, print_warning

    profile, device = run.profile, run.profile.device
    law, no_law = calibration_words(profile)
    print_title(console, profile.model, f"measured on {device.name}")
    threads = f", {counted(device.threads, 'thread')}" if device.threads else ""
    print_facts(
        console,
        [
            ("device", f"{device.kind}, {device.precision}{threads}, PyTorch {device.torch}"),
            ("in the catalogue", device.accelerator),
            ("sizes", _sizes(run)),
            ("as a calibration", law),
        ],
    )
    measured = [op for op in profile.operators if op.times]
    if measured:
        print_title(console, "Largest size of each operator", "whole, where it was measured whole")
        print_table(console, COLUMNS, [_row(op) for op in measured], numbers=COLUMNS[2:])
    for warning in [*_warnings(run), *filter(None, [no_law])]:
        print_warning(console, warning)
    print_title(console, "Next")
    console.print(f"  {_next_step(run, source, out)}", highlight=False, markup=False)


def calibration_words(profile: "DeviceProfile") -> tuple[str, str]:
    """Return what a transformer's profile says of step times, or why it says nothing; nothing of other models."""
    from topoopt.errors import InvalidInput
    from topoopt.llm import find_calibration, profiled_calibration

    if profile.source != "transformer":
        return "", ""
    device = profile.device
    if not device.accelerator:
        return "", f"{device.name} is not in topoopt hardware: the times are no calibration of step times."
    try:
        found = profiled_calibration(profile, find_calibration(device.accelerator), device.name)
    except InvalidInput as error:
        return "", f"No calibration of step times: {error}."
    kernels = found.calibration
    return (
        f"large matrix products reach {kernels.gemm_efficiency:.0%} of the peak, the attention's core "
        f"{kernels.attention_efficiency:.0%}, norms {kernels.memory_efficiency:.0%} of the memory's rate; the law of "
        f"products is off by {found.product_error:.1%} (median of {found.products})",
        "",
    )


def print_dry_run(subject: "Subject", as_json: bool) -> None:
    """Print what would be measured."""
    from topoopt.cli.render import print_json, print_table, print_title, print_warning, terminal

    rows = [
        {
            "operator": op.operator.name,
            "kind": op.operator.kind,
            "count": op.count,
            "sizes": len(op.sizes),
            "fewest_samples": min(size.samples for size in op.sizes),
            "most_samples": max(size.samples for size in op.sizes),
            "most_channel_parts": max(size.channel_degree for size in op.sizes),
        }
        for op in subject.operators
    ]
    if as_json:
        print_json(
            {
                "model": subject.model,
                "sizes": subject.sizes,
                "operators": rows,
                "left_out": dict(subject.left_out),
            }
        )
        return
    console = terminal()
    print_title(console, subject.model, f"{counted(subject.sizes, 'size')} would be measured")
    columns = ("operator", "kind", "of it", "sizes", "samples", "channel parts")
    cells = [
        (
            str(row["operator"]),
            str(row["kind"]),
            str(row["count"]),
            str(row["sizes"]),
            _range(row["fewest_samples"], row["most_samples"]),
            _range(1, row["most_channel_parts"]),
        )
        for row in rows
    ]
    print_table(console, columns, cells, numbers=columns[2:])
    for name, reason in subject.left_out.items():
        print_warning(console, f"{name} cannot be measured: {reason}.")


def _sizes(run: "ProfileRun") -> str:
    words = [f"{run.asked:,}: {run.measured:,} measured now"]
    if run.found:
        words.append(f"{run.found:,} known before")
    if run.failed:
        words.append(f"{run.failed:,} that cannot be measured here")
    left = run.asked - run.measured - run.found - run.failed
    if left:
        words.append(f"{left:,} left")
    return ", ".join(words)


def _row(op: "MeasuredOperator") -> tuple[str, ...]:
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


def _shown_size(op: "MeasuredOperator") -> "PartSize":
    return max(op.times, key=lambda size: (-size.channel_degree, size.samples))


def _warnings(run: "ProfileRun") -> list[str]:
    found = [f"{name} was not measured: {reason}." for name, reason in run.profile.left_out.items()]
    for op in run.profile.operators:
        if op.failures:
            size, reason = min(op.failures.items())
            split = "" if size.channel_degree == 1 else f" and 1/{size.channel_degree} of {size.channel_dim}"
            found.append(
                f"{op.name}: {counted(len(op.failures), 'size')} failed, from {size.samples:,} samples{split} on: "
                f"{reason}."
            )
    if run.too_long:
        found.append(
            f"{counted(run.too_long, 'size')} would not have ended before the time limit; times beyond what was "
            "measured are extrapolated."
        )
    times = [(op, time) for op in run.profile.operators for time in op.times.values()]
    restless = sum(time.forward_spread_s > LARGEST_SHARE * time.forward_s for _, time in times)
    if restless * 10 > len(times):
        found.append(
            f"{restless:,} of {len(times):,} times spread by more than {LARGEST_SHARE:.0%}: is the device busy with "
            "something else?"
        )
    return found


def _next_step(run: "ProfileRun", source: str, out: str | None) -> str:
    if out is None:
        return "To keep the measurements, and to plan with them: --out profile.json"
    if run.stopped_because != "finished":
        return f"{shlex.quote(out)} holds what was measured; the same command goes on."
    if run.profile.source == "transformer":
        return f"topoopt llm search {shlex.quote(source)} --accelerators 64 --calibration {shlex.quote(out)}"
    if run.profile.source == "zoo":
        return f"topoopt plan {shlex.quote(out)}"
    return f"topoopt plan {shlex.quote(source)} --profile-file {shlex.quote(out)}"


def _range(low: Any, high: Any) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
