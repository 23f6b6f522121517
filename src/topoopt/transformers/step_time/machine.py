"""What of the machines enters a step time, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import PRECISIONS, find_accelerator, host_bytes_per_s
from topoopt.transformers.step_time.exponentials import WITH_FLASH_ATTENTION_2, exponential_width
from topoopt.transformers.step_time.relatives import peak_rates
from topoopt.transformers.system import System


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
