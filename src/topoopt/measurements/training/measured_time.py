"""The measured time of one row of a table of runs: as it stands, or from tokens, a rate, or a share of the peak."""

import math
import re

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.measurements.cells import Row, number, text
from topoopt.measurements.training.cells import meaning, size_bytes
from topoopt.transformers import (
    FLOPS_DEFINITIONS,
    Configuration,
    System,
    configuration_table,
    flops_per_iteration,
    iteration_flops,
    model_flops,
    part_bit,
    peak_rates,
    recomputation_bits,
    shapes_of,
)
from topoopt.workloads.transformer import TransformerModel, forward_flops

TIME = re.compile(r"(.*?\d)\s*(ms|s)")
TIME_COLUMNS = (
    "iter_time_s",
    "iter_time_ms",
    "tokens_per_s_per_gpu",
    "tokens_per_s",
    "sequences_per_s",
    "tflops_per_gpu",
    "mfu_pct",
    "hfu_pct",
)
"""Columns that a time may come from; the first that has a number is taken."""

TIMES = TIME_COLUMNS[:2]

LARGEST_PEAK = 1e6
"""TFLOP/s."""

USUAL_DEFINITION = "matmul"
"""Of rates that say no other: matrix products without recomputation, attention not halved, as Megatron-LM counts."""


def measured_s(row: Row, model: TransformerModel, one: Configuration, system: System) -> tuple[float, str]:
    """Return the iteration time, and which of :data:`TIME_COLUMNS` it comes from; NaN where a row has none of them.

    Raises
    ------
    InvalidInput
        If it is not positive, above the accelerators' peak rate (such a row is misprinted), or a rate is of an unknown
        definition.
    """
    written = [name for name in TIME_COLUMNS if text(row, name)]
    column = next((name for name in written if name in TIMES or _amount(row, name) != 0), "")
    if not column:
        return math.nan, ""
    if _amount(row, column) <= 0:
        raise InvalidInput(f"{column}: must be positive, got {_amount(row, column):g}")
    seconds = _seconds(row, column, model, one, system)
    if not 0 < seconds < math.inf:
        raise InvalidInput(f"{column}: {text(row, column)} would be {seconds:g} s an iteration")
    _check_rate(model, one, system, seconds)
    return seconds, column


def measured_bytes(row: Row) -> float:
    """Return the peak memory of an accelerator, from 10⁹ bytes or GiB; 0 where a row has none."""
    return size_bytes(row, "mem_gib", 2.0**30) or size_bytes(row, "mem_gb", 1e9)


def _amount(row: Row, column: str) -> float:
    """Return what a column says, in its own unit."""
    if column == "iter_time_s":
        return _written_s(row)
    return _share(row, column) if column in ("mfu_pct", "hfu_pct") else number(row, column)


def _seconds(row: Row, column: str, model: TransformerModel, one: Configuration, system: System) -> float:
    amount = _amount(row, column)
    tokens = one.global_batch * one.sequence
    plain = {
        "iter_time_s": amount,
        "iter_time_ms": amount / 1e3,
        "tokens_per_s_per_gpu": tokens / (amount * one.accelerators),
        "tokens_per_s": tokens / amount,
        "sequences_per_s": one.global_batch / amount,
    }
    if column in plain:
        return plain[column]
    usual = "hardware" if column == "hfu_pct" else ""
    rate = amount * (1e12 if column == "tflops_per_gpu" else _peak_flops(row, one, system))
    return _flops(text(row, "tflops_def") or usual, model, one) / rate / one.accelerators


def _written_s(row: Row) -> float:
    match = TIME.fullmatch(text(row, "iter_time_s"))
    if match is None:
        return number(row, "iter_time_s")
    return number({"iter_time_s": match[1]}, "iter_time_s") * (1e-3 if match[2] == "ms" else 1)


def _share(row: Row, column: str) -> float:
    """Return a share of the peak: 43.3, 43.3% or 0.433."""
    percent = number({column: text(row, column).removesuffix("%").strip()}, column)
    return percent if percent <= 1 else percent / 100


def _flops(definition: str, model: TransformerModel, one: Configuration) -> float:
    """Return the FLOPs of an iteration as the definition of a row counts them.

    Raises
    ------
    InvalidInput
        If nobody knows it.
    """
    word = definition.lower() or USUAL_DEFINITION
    name = word if word in FLOPS_DEFINITIONS else meaning("tflops_def", word)
    if not name:
        known = ", ".join((*FLOPS_DEFINITIONS, "hardware"))
        raise InvalidInput(f'tflops_def: expected one of {known}, got "{definition}"')
    if name == "hardware":
        return _hardware_flops(model, one)
    if name == USUAL_DEFINITION:
        return iteration_flops(model, one)  # frozen weights and packed documents ask for less
    return flops_per_iteration(name, model, one.global_batch, one.sequence)


def _hardware_flops(model: TransformerModel, one: Configuration) -> float:
    """Return matrix products with those that are computed again: all layers, or the attention's core."""
    forward, bits = forward_flops(model, one.sequence), recomputation_bits(one.recompute)
    again = forward.layers.core_flops if bits & part_bit("core") else 0.0
    if bits & part_bit("full"):
        again = forward.layers.total_flops
    return (3 * forward.total_flops + again) * one.global_batch * one.sequence


def _peak_flops(row: Row, one: Configuration, system: System) -> float:
    """Return the peak that a share refers to: ``mfu_precision``, a precision or TFLOP/s, or the run's own."""
    word = text(row, "mfu_precision").lower()
    peaks = peak_rates(system.accelerator)
    if word and not meaning("precision", word):
        peak = number(row, "mfu_precision")
        if not 0 < peak < LARGEST_PEAK:
            raise InvalidInput(f"mfu_precision: expected a precision or a peak in TFLOP/s, got {peak:g}")
        return peak * 1e12
    precision = meaning("precision", word) or one.precision
    if precision not in peaks:
        part = find_accelerator(system.accelerator).name
        raise InvalidInput(
            f"mfu_precision: the peak of {part} in {precision} is not known; it has {', '.join(peaks)}"
        )
    return peaks[precision]


def _check_rate(model: TransformerModel, one: Configuration, system: System, seconds: float) -> None:
    part = find_accelerator(system.accelerator)
    peak = max(peak_rates(system.accelerator).values())
    flops = float(model_flops(shapes_of(model), configuration_table([one]))[0])
    rate = flops / one.accelerators / seconds
    if rate > 1.25 * peak:
        raise InvalidInput(
            f"iter_time_s: {seconds:g} s would be {rate / 1e12:,.0f} TFLOP/s on each {part.name}, "
            f"above its peak of {peak / 1e12:,.0f}"
        )
