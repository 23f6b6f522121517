"""The transformer and the measured time of one row of a table of runs, from whichever cells state them."""

import math
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.measurements.run_table import Row, number, text, whole
from topoopt.measurements.training.cells import meaning, size_bytes, switched_on
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
from topoopt.workloads.transformer import (
    Shapes,
    TransformerModel,
    changed_model,
    find_transformer,
    forward_flops,
    model_of_shapes,
)

GATED_FAMILIES = ("llama", "mistral", "mixtral", "qwen", "gemma", "deepseek", "olmo")
"""Words in the architecture or model of a row whose feed-forward parts have three matrices."""
FAMILIES_WITHOUT_BIASES = ("mpt",)
"""Families without biases, among those with two matrices: MPT was trained with ``no_bias`` and without dropout."""
_SHAPES = (
    *("layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary", "experts", "experts_per_token"),
    *("expert_ffn", "shared_ffn", "route_groups", "groups_per_token", "head_dim"),
)
SHAPES = {"vocab" if shape == "vocabulary" else shape: shape for shape in _SHAPES}
"""Columns about a model, and the :class:`~topoopt.workloads.transformer.Shapes` that they are."""
WITHOUT_MTP = r"\b(w/o|without|no) mtp\b"
"""Pattern in a model's name: without its modules for further tokens."""
USUAL = ("heads", "kv_heads", "ffn", "vocab")
"""Fields with a default where layers and hidden size are given."""
TIME = re.compile(r"(.*?\d)\s*(ms|s)")
TIME_COLUMNS = (
    *("iter_time_s", "iter_time_ms", "tokens_per_s_per_gpu", "tokens_per_s", "sequences_per_s"),
    *("tflops_per_gpu", "mfu_pct", "hfu_pct"),
)
"""Columns of the time, in order; the first with a number is used."""
TIMES = TIME_COLUMNS[:2]
LARGEST_PEAK = 1e6
"""TFLOP/s."""
USUAL_DEFINITION = "matmul"
"""Default definition of rates: matrix products without recomputation, attention not halved, as Megatron-LM counts."""


def measured_s(row: Row, model: TransformerModel, one: Configuration, system: System) -> tuple[float, str]:
    """Return the iteration time and its column of :data:`TIME_COLUMNS`; NaN where a row has none of them.

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
        seconds = plain[column]
    else:
        usual = "hardware" if column == "hfu_pct" else ""
        rate = amount * (1e12 if column == "tflops_per_gpu" else _peak_flops(row, one, system))
        seconds = _flops(text(row, "tflops_def") or usual, model, one) / rate / one.accelerators
    if not 0 < seconds < math.inf:
        raise InvalidInput(f"{column}: {text(row, column)} would be {seconds:g} s an iteration")
    _check_rate(model, one, system, seconds)
    return seconds, column


def measured_bytes(row: Row) -> float:
    """Return the peak memory of an accelerator, from 10⁹ bytes or GiB; 0 where a row has none."""
    return size_bytes(row, "mem_gib", 2.0**30) or size_bytes(row, "mem_gb", 1e9)


def _amount(row: Row, column: str) -> float:
    if column == "iter_time_s":
        match = TIME.fullmatch(text(row, "iter_time_s"))
        if match is None:
            return number(row, "iter_time_s")
        return number({"iter_time_s": match[1]}, "iter_time_s") * (1e-3 if match[2] == "ms" else 1)
    return _share(row, column) if column in ("mfu_pct", "hfu_pct") else number(row, column)


def _share(row: Row, column: str) -> float:
    """Return a share of the peak: 43.3, 43.3% or 0.433."""
    percent = number({column: text(row, column).removesuffix("%").strip()}, column)
    return percent if percent <= 1 else percent / 100


def _flops(definition: str, model: TransformerModel, one: Configuration) -> float:
    """Return the FLOPs of an iteration as the definition of a row counts them.

    Raises
    ------
    InvalidInput
        If it is unknown.
    """
    word = definition.lower() or USUAL_DEFINITION
    name = word if word in FLOPS_DEFINITIONS else meaning("tflops_def", word)
    if not name:
        known = ", ".join((*FLOPS_DEFINITIONS, "hardware"))
        raise InvalidInput(f'tflops_def: expected one of {known}, got "{definition}"')
    if name == "hardware":
        # matrix products with those that are computed again: all layers, or the attention's core
        forward, bits = forward_flops(model, one.sequence), recomputation_bits(one.recompute)
        again = forward.layers.core_flops if bits & part_bit("core") else 0.0
        if bits & part_bit("full"):
            again = forward.layers.total_flops
        return (3 * forward.total_flops + again) * one.global_batch * one.sequence
    if name == USUAL_DEFINITION:
        return iteration_flops(model, one)  # frozen weights and packed documents ask for less
    return flops_per_iteration(name, model, one.global_batch, one.sequence)


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


def run_model(row: Row) -> TransformerModel:
    """Return the model of a row.

    Rows with all shapes are models of their own. What is missing is that of the model that the row names, if the zoo
    has it, changed by the shapes that the row has; else heads of 128 and an inner size of 4 times the hidden size.

    Raises
    ------
    InvalidInput
        If there are neither shapes nor a known name.
    """
    shaped = bool(text(row, "layers") and text(row, "hidden"))
    mixture = "moe" in text(row, "arch").lower() or number(row, "ep", 1.0) > 1 or bool(text(row, "experts"))
    whole_shapes = all(text(row, column) for column in USUAL)
    if shaped and not mixture and whole_shapes:
        return _by_shapes(row)
    known = _named(row)
    if known is not None and (not shaped or mixture or whole(row, "hidden") == known.hidden):
        # a known model with the shapes of a row: a part of its layers, other experts
        said: dict[str, Any] = {
            field: whole(row, column) for column, field in SHAPES.items() if text(row, column)
        }
        said |= {name: switched_on(row, name, False) for name in ("gated", "tied") if text(row, name)}
        if text(row, "capacity_factor"):
            said["capacity_factor"] = number(row, "capacity_factor")
        experts = known.experts
        if experts is not None and "ffn" in said and "expert_ffn" not in said:
            all_mixed = known.moe_layers == known.layers
            if all_mixed or said["ffn"] == experts.ffn:  # that column is of whatever size a table has
                said["expert_ffn"] = said.pop("ffn")
        return _with_dense_layers(changed_model(known, Shapes(**said)), row)
    if shaped and (not mixture or text(row, "experts")):
        return _by_shapes(row)
    why = "experts: not in the table" if shaped else "layers, hidden: missing"
    if not text(row, "model"):
        raise InvalidInput(f"{why}, and there is no model name to look up")
    raise InvalidInput(f'{why}, and the zoo has no model "{text(row, "model")}"')


def _named(row: Row) -> TransformerModel | None:
    name = text(row, "model")
    for word in (name, re.sub(r"\(.*?\)", "", name).strip()):
        with suppress(InvalidInput):
            known = find_transformer(word)
            return replace(known, mtp_layers=0) if re.search(WITHOUT_MTP, name.lower()) else known
    return None


def _with_dense_layers(model: TransformerModel, row: Row) -> TransformerModel:
    if not text(row, "dense_layers"):
        return model
    if model.experts is None:
        raise InvalidInput("dense_layers: the model has no experts; leave it out")
    dense = 0 if number(row, "dense_layers") == 0 else whole(row, "dense_layers")
    if dense >= model.layers:
        raise InvalidInput(f"dense_layers: expected fewer than the {model.layers} layers, got {dense}")
    return replace(model, experts=replace(model.experts, first_dense_layers=dense))


def _by_shapes(row: Row) -> TransformerModel:
    hidden = whole(row, "hidden")
    heads = whole(row, "heads", max(1, hidden // 128))
    arch = f"{text(row, 'arch')} {text(row, 'model')}".lower()
    mixture: dict[str, Any] = {
        field: whole(row, column)
        for column, field in SHAPES.items()
        if "expert" in field + column or column in ("shared_ffn", "route_groups", "groups_per_token")
        if text(row, column)
    }
    if text(row, "capacity_factor"):
        mixture["capacity_factor"] = number(row, "capacity_factor")
    gated = switched_on(row, "gated", bool(mixture) or any(word in arch for word in GATED_FAMILIES))
    biases = not gated and not any(word in arch for word in FAMILIES_WITHOUT_BIASES)
    shapes = Shapes(
        layers=whole(row, "layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=whole(row, "kv_heads", heads),
        head_dim=whole(row, "head_dim", max(1, hidden // heads)),
        ffn=whole(row, "ffn", 4 * hidden),
        gated=gated,
        vocabulary=whole(row, "vocab", 51200),
        tied=switched_on(row, "tied", not gated),
        seq=whole(row, "seq", 2048),
        **mixture,
    )
    model = replace(model_of_shapes(shapes), name=text(row, "model") or "unnamed", positions=0)
    bias = dict.fromkeys(("attention_bias", "output_bias", "mlp_bias"), biases)
    family = replace(model, family=text(row, "arch") or "gpt", **bias)  # type: ignore[arg-type]
    return _with_dense_layers(family, row)
