"""A calibration whose kernels are measured: the laws of products, attention and memory fitted on a profile."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.transformers.step_time.attention_time import fused_passes
from topoopt.transformers.step_time.calibration import PARAMETERS, Calibration
from topoopt.transformers.step_time.collective_time import exponential_width
from topoopt.workloads import DeviceProfile, MeasuredOperator, PartSize, PartTime

Row = TypeVar("Row")

LAW_OF_PRODUCTS = ("gemm_efficiency", "gemm_half_depth", "gemm_half_side")
PRECISIONS = ("bf16", "fp16")
"""Precisions of a profile that apply to training; its times are shares of the 16-bit peak."""

STARTING = 3.0
"""Multiple of the shortest kernel below which kernels are mostly launch, which the models ignore."""

FEWEST = 6
"""Products of different sizes that the law of products needs."""

BYTES = 2


@dataclass(frozen=True, eq=False)
class ProfiledCalibration:
    """A calibration from a profile, and the errors of its models.

    Attributes
    ----------
    calibration : Calibration
        The others' parameters are those of the calibration that it started from.
    products : int
        Products that the law was fitted on.
    product_error : float
        Median of ``abs(law / measured - 1)`` over them.
    measured : tuple of str
        Parameters that come from the profile.
    """

    calibration: Calibration
    products: int
    product_error: float
    measured: tuple[str, ...]


def profiled_calibration(
    profile: DeviceProfile, base: Calibration, place: str = "profile"
) -> ProfiledCalibration:
    """Return a calibration with the kernels of a profile; the rest is that of ``base``.

    The laws are those of ``step_time/layer_time.py``. A matrix product counts as a third of a linear layer's forward
    and backward pass. Launches, collectives, overlap and stragglers are not in a profile of operators.

    Parameters
    ----------
    profile : DeviceProfile
        Profile of a transformer, from ``topoopt profile``.
    base : Calibration
        Calibration of the same accelerator.
    place : str
        The file, for errors.

    Raises
    ------
    InvalidInput
        If the profile is not of a transformer, of another accelerator or precision, or has too few sizes.
    """
    check_profile(profile, place)
    accelerator = profile.device.accelerator
    if accelerator != find_accelerator(base.accelerator).name:
        raise InvalidInput(
            f"{place}: was measured on {accelerator}, and {base.accelerator} was asked for; "
            f"give accelerator={accelerator.lower()}, or measure there"
        )
    part = find_accelerator(accelerator)
    flops = part.peak_flops(profile.device.precision)
    floor_s = min(time.forward_s for op in profile.operators for time in op.times.values())
    products = np.array(list(_of_kind(profile, "dense", floor_s, _product)), np.float64).reshape(-1, 4)
    if len(products) < FEWEST:
        raise InvalidInput(
            f"{place}: the law of matrix products needs {FEWEST} sizes or more, got {len(products)}; measure on"
        )
    values, error = _law_of_products(products, flops)
    laws = (
        ("fused_attention", {"attention core": partial(_attention_flops_per_s, part.architecture)}, flops),
        (
            "memory_efficiency",
            {"activation": _activation_bytes_per_s, "norm": _norm_bytes_per_s},
            part.memory_bandwidth_bytes_per_s,
        ),
    )
    for name, kinds, peak in laws:
        rates = [rate for kind, row in kinds.items() for rate in _of_kind(profile, kind, floor_s, row)]
        if rates:
            values[name] = _bounded(name, float(np.median(rates)) / peak)
    provenance = {
        "profile": f"{profile.model} on {profile.device.name}, {profile.device.precision}",
        "pytorch": profile.device.torch,
        "from_profile": ", ".join(values),
        "others_from": base.name,
        "products": str(len(products)),
        "median_product_error_percent": f"{100 * error:.1f}",
    }
    made = replace(
        base.with_parameters(values), name=f"{base.name} (profile)", attention="fused", provenance=provenance
    )
    return ProfiledCalibration(made, len(products), error, tuple(values))


def check_profile(profile: DeviceProfile, place: str) -> None:
    """Refuse a profile without information on step times.

    Raises
    ------
    InvalidInput
        If it is not of a transformer, in 16 bits, on an accelerator of the catalogue.
    """
    device = profile.device
    if profile.source != "transformer":
        raise InvalidInput(
            f"{place}: holds operators of {profile.model}, which is no transformer; "
            "topoopt plan takes it as profile_file"
        )
    if not device.accelerator:
        raise InvalidInput(
            f"{place}: was measured on {device.name}, which is not in topoopt hardware; step times need an "
            "accelerator of the catalogue"
        )
    if device.precision not in PRECISIONS:
        raise InvalidInput(
            f"{place}: was measured in {device.precision}; training multiplies in 16 bits: "
            "measure again with precision bf16"
        )
    if not any(op.times for op in profile.operators):
        raise InvalidInput(f"{place}: holds no times; measure on")


def _of_kind(
    profile: DeviceProfile,
    kind: str,
    floor_s: float,
    row: Callable[[MeasuredOperator, PartSize, PartTime], Row],
) -> Iterator[Row]:
    """Yield a row for every measurement that is long enough to be more than a start."""
    for op in profile.operators:
        for size, time in op.times.items():
            if op.signature.kind == kind and time.forward_s > STARTING * floor_s:
                yield row(op, size, time)


def _product(op: MeasuredOperator, size: PartSize, time: PartTime) -> tuple[float, float, float, float]:
    """Return rows, columns, depth and seconds of one product."""
    columns = _number(op, "width_out") / (size.channel_degree if size.channel_dim == "out" else 1)
    depth = _number(op, "width_in") / (size.channel_degree if size.channel_dim == "in" else 1)
    rows = size.samples * _number(op, "positions")
    return rows, math.ceil(columns), math.ceil(depth), (time.forward_s + time.backward_s) / 3


def _attention_flops_per_s(architecture: str, op: MeasuredOperator, size: PartSize, time: PartTime) -> float:
    """Return the rate of a causal core by the law of fused kernels: half of its products, and its backward pass."""
    scores = size.samples * _number(op, "heads") / size.channel_degree * _number(op, "positions") ** 2
    both = _number(op, "head_dim") + _number(op, "value_dim")
    passes = fused_passes(both / 2, _number(op, "positions"), exponential_width(architecture))
    return float(sum(passes)) * scores * both / (time.forward_s + time.backward_s)


def _activation_bytes_per_s(op: MeasuredOperator, size: PartSize, time: PartTime) -> float:
    elements = size.samples * _number(op, "elements") / size.channel_degree
    return BYTES * (_number(op, "inputs") + 1) * elements / time.forward_s


def _norm_bytes_per_s(op: MeasuredOperator, size: PartSize, time: PartTime) -> float:
    return 2 * BYTES * size.samples * _number(op, "positions") * _number(op, "width") / time.forward_s


def _number(op: MeasuredOperator, name: str) -> int:
    value = op.shape.get(name)
    if not isinstance(value, int) or value < 1:
        raise InvalidInput(
            f"profile: operator {op.name}: shape: {name}: expected an integer >= 1, got {value}"
        )
    return value


def _law_of_products(products: Floats, flops: float) -> tuple[dict[str, float], float]:
    """Return the parameters that fit best in logarithms, few outliers counting little, and the median error."""
    rows, columns, depth, time_s = products.T
    ideal_s = 2 * rows * columns * depth / flops

    def ratio(logs: Floats) -> Floats:
        efficiency, half_depth, half_side = np.exp(logs)
        lost = (1 + half_depth / depth) * (1 + half_side**2 / (rows * columns))
        error: Floats = np.log(ideal_s * lost / efficiency / time_s)
        return error

    low, high = np.log([(PARAMETERS[name].low, PARAMETERS[name].high) for name in LAW_OF_PRODUCTS]).T
    start = np.clip(np.log([0.7, 50.0, 500.0]), low, high)
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes half a second to import

    solution = least_squares(ratio, start, bounds=(low, high), loss="soft_l1", f_scale=0.1)
    fitted = np.exp(solution.x)
    error = float(np.median(np.abs(np.expm1(ratio(solution.x)))))
    values = {name: _bounded(name, float(value)) for name, value in zip(LAW_OF_PRODUCTS, fitted, strict=True)}
    return values, error


def _bounded(name: str, value: float) -> float:
    return float(np.clip(value, PARAMETERS[name].low, PARAMETERS[name].high))
