"""The constants of fused attention, fitted to published times of kernels: ``python -m benchmarks.attention_kernels``.

The law of ``transformers/step_time/attention_time.py`` with an efficiency for each kernel on each accelerator: how long
the ends of a sequence take, how much slower the backward pass is, and how much of the exponentials no product hides. A
kernel without a causal mask loses less at the ends; training has the mask.
"""

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.catalog import find_accelerator
from topoopt.transformers.step_time.collective_time import PRODUCTS_OF_AN_EXPONENTIAL, USUAL_PRODUCTS

KERNELS = Path(__file__).parent / "data" / "attention_kernels.csv"
SHORTEST = 1024
"""Tokens of the sequences that count; the figures' shorter ones do not fill the processors."""

WITHOUT_OVERLAP = ("flash2",)
"""Kernels in which exponentials and products wait for each other at any head size."""


@dataclass(frozen=True)
class Constants:
    """What is fitted, and the mean absolute error in percent of a kernel's rate."""

    bare_exponentials: float
    half_sequence: float
    fused_backward: float
    kernels: int
    error_percent: float


def fitted_constants(path: Path = KERNELS) -> Constants:
    """Return the constants that explain the table best, in logarithms."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["sequence"]) >= SHORTEST]
    kinds = [(row["accelerator"], row["kernel"]) for row in rows]
    known = sorted(set(kinds))
    kind = np.array([known.index(one) for one in kinds])
    backward = np.array([row["pass"] == "backward" for row in rows])
    causal = np.array([float(row["causal"]) for row in rows])
    head, seen, measured = (
        np.array([float(row[name]) for row in rows]) for name in ("head_dim", "sequence", "tflops")
    )
    peak = np.array([find_accelerator(row["accelerator"]).peak_flops("bf16") / 1e12 for row in rows])
    width = np.array([_width(*one) for one in kinds])

    def ratio(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        bare, plain, more, slower = np.exp(logs[:4])
        passes = np.where(backward, 2.5 * slower, 1.0) + bare * width / head
        ends = 1 + (plain + causal * more) / seen
        rate = peak * np.exp(logs[4:])[kind] * np.where(backward, 2.5, 1.0) / passes / ends
        return np.asarray(np.log(rate / measured), np.float64)

    from scipy.optimize import least_squares  # noqa: PLC0415 - takes half a second to import

    begin = np.concatenate([np.log([0.7, 200.0, 200.0, 1.1]), np.full(len(known), -0.5)])
    found = least_squares(ratio, begin).x
    bare, plain, more, slower = (float(value) for value in np.exp(found[:4]))
    error = 100 * float(np.abs(np.expm1(ratio(found))).mean())
    return Constants(bare, plain + more, 2.5 * slower, len(rows), error)


def _width(accelerator: str, kernel: str) -> float:
    if kernel in WITHOUT_OVERLAP:
        return 0.0
    return PRODUCTS_OF_AN_EXPONENTIAL.get(find_accelerator(accelerator).architecture, USUAL_PRODUCTS)


def main(words: Sequence[str] = ()) -> int:
    """Print the constants."""
    one = fitted_constants(Path(words[0]) if words else KERNELS)
    print(f"BARE_EXPONENTIALS = {one.bare_exponentials:.2f}")
    print(f"HALF_SEQUENCE = {one.half_sequence:.0f}")
    print(f"FUSED_BACKWARD = {one.fused_backward:.2f}")
    print(f"{one.kernels} rates of kernels, {one.error_percent:.1f} % off on average")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
