"""What of the machines enters a step time, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import PRECISIONS, find_accelerator, host_bytes_per_s
from topoopt.transformers.step_time.calibration import peak_rates
from topoopt.transformers.system import System

WITH_FLASH_ATTENTION_2 = ("Volta", "Turing", "Ampere", "Ada")
"""Architectures for which FlashAttention 2 is as good as it gets."""
BARE_EXPONENTIALS = 0.67
"""Of the exponentials, what no product hides, in kernels that overlap the two (``benchmarks/attention_kernels.py``)."""
PRODUCTS_OF_AN_EXPONENTIAL = {"Blackwell": 128.0}
"""By architecture, the head size whose two forward products take as long as one exponential: FLOPs of a multiprocessor
and clock over its exponentials, over 4. Blackwell has 8,192 and 16 (Zadouri 2026, "FlashAttention-4")."""
USUAL_PRODUCTS = 64.0
"""Hopper has 4,096 and 16, Blackwell Ultra 8,192 and 32; others take over what is known of these."""


def exponential_width(architecture: str) -> float:
    """Return the head size whose products take as long as the exponentials that they do not hide.

    In FlashAttention 2 the two wait for each other at any width, which its efficiency says: 0.

    Examples
    --------
    >>> exponential_width("Blackwell") == 2 * exponential_width("Hopper"), exponential_width("Ampere")
    (True, 0.0)
    """
    if architecture.startswith(WITH_FLASH_ATTENTION_2):
        return 0.0
    return BARE_EXPONENTIALS * PRODUCTS_OF_AN_EXPONENTIAL.get(architecture, USUAL_PRODUCTS)


@dataclass(frozen=True, eq=False)
class Machine:
    """Each a float64 array of shape () for one system or (rows,) for a system per row.

    Attributes
    ----------
    peak_flops : array, shape (precisions, ...)
        By index into :data:`~topoopt.catalog.PRECISIONS`; of a precision that the part lacks, its 16-bit rate.
    memory_bytes_per_s, scale_up_bytes_per_s, network_bytes_per_s : array
        Of one accelerator, links in one direction.
    per_server : array
        Accelerators that reach each other over the scale-up links.
    latency_s : array
        One hop of the network.
    host_bytes_per_s : array
        To the memory of the host, each way; NaN where that is not known.
    newer_kernels : array
        1 where Megatron's fused attention is newer than PyTorch's, 0 where both are FlashAttention 2: since Hopper it
        is cuDNN's or FlashAttention 3, which make use of what FlashAttention 2 does not know (Shah 2024, figure 5).
    exponential_width : array
        Head size whose products take as long in fused attention as the exponentials that they do not hide.
    """

    peak_flops: Floats
    memory_bytes_per_s: Floats
    scale_up_bytes_per_s: Floats
    network_bytes_per_s: Floats
    per_server: Floats
    latency_s: Floats
    host_bytes_per_s: Floats
    newer_kernels: Floats
    exponential_width: Floats


def machine_of(system: System) -> Machine:
    """Return the columns of one system, without a row axis."""
    peaks, others = _row(system)
    return Machine(np.array(peaks), *np.array(others))


def stacked_machines(systems: Sequence[System]) -> Machine:
    """Return the columns of one system per row."""
    rows = {system: _row(system) for system in set(systems)}
    peaks = np.array([rows[system][0] for system in systems]).T
    return Machine(peaks, *np.array([rows[system][1] for system in systems], np.float64).T)


def sixteen_bit_flops(accelerator: str) -> float:
    """Return the dense 16-bit rate of an accelerator: bf16 where it has that, else fp16.

    Raises
    ------
    InvalidInput
        If neither is known, nor of a relative.
    """
    peaks = peak_rates(accelerator)
    return peaks.get("bf16", peaks.get("fp16", 0.0))


def _row(system: System) -> tuple[list[float], tuple[float, ...]]:
    part = find_accelerator(system.accelerator)
    usual = sixteen_bit_flops(system.accelerator)
    known = peak_rates(system.accelerator)
    faster = max(usual, known.get("fp8", usual))
    peaks = [known.get(name, faster if name == "fp4" else usual) for name in PRECISIONS]
    return peaks, (
        part.memory_bandwidth_bytes_per_s,
        system.scale_up_bandwidth_bps / 8,
        system.network_bandwidth_bps / 8,
        float(system.accelerators_per_server),
        system.network_latency_s,
        host_bytes_per_s(part) or np.nan,
        float(not part.architecture.startswith(WITH_FLASH_ATTENTION_2)),
        exponential_width(part.architecture),
    )
