"""Operators on the processor of this machine."""

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.memory import available_bytes
from topoopt.workloads import DeviceFacts

SAFE_PART = 0.8
"""Of the memory that is available: beyond it the system may end the process instead of refusing."""


class CpuDevice:
    """The processor, timed with the clock of the process that waits for it.

    Parameters
    ----------
    threads : int
        Threads that PyTorch computes with; 0 for as many as it takes by itself.

    Raises
    ------
    InvalidInput
        If the precision is tf32, which only tensor cores know.
    """

    def __init__(self, torch: Any, precision: str, threads: int = 0) -> None:
        if precision == "tf32":
            raise InvalidInput("precision: tf32 is of NVIDIA's tensor cores; a CPU has fp32, bf16 and fp16")
        if threads:
            torch.set_num_threads(threads)
        self.torch = torch
        self.facts = DeviceFacts(
            kind="cpu",
            name=processor_name(),
            accelerator="",
            torch=str(torch.__version__),
            precision=precision,
            threads=int(torch.get_num_threads()),
        )

    def times_s(self, work: Callable[[], object], repetitions: int) -> list[float]:
        """Return the seconds of each of so many runs."""
        times_s = []
        for _ in range(repetitions):
            began = time.perf_counter()
            work()
            times_s.append(time.perf_counter() - began)
        return times_s

    def watch_memory(self) -> None:
        """Do nothing: PyTorch does not count on a CPU."""

    def peak_bytes(self, tensors: Sequence[Any]) -> int:
        """Return the bytes of all tensors."""
        return sum(_bytes_of(tensor) for tensor in tensors)

    def free_bytes(self) -> float:
        """Return the safe part of what the system, or the group of processes, has left."""
        return SAFE_PART * available_bytes()

    def forget(self) -> None:
        """Do nothing: memory goes back by itself."""


def processor_name() -> str:
    """Return what the processor calls itself, or its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine() or "CPU"


def _bytes_of(tensor: Any) -> int:
    if tensor.is_sparse:
        return _bytes_of(tensor._indices()) + _bytes_of(tensor._values())
    return int(tensor.numel()) * int(tensor.element_size())
