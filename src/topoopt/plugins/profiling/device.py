"""The Protocol Device: what measures operators, and the table of devices."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from topoopt.base.errors import InvalidInput, check_known
from topoopt.plugins.profiling.cpu_device import CpuDevice
from topoopt.plugins.profiling.cuda_device import CudaDevice
from topoopt.workloads import DeviceFacts

REMEDY = 'pip install "topoopt[torch]"'
AUTO = "auto"
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
"""Precisions that PyTorch has whole operators for; it has none in fp8."""
DTYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class Device(Protocol):
    """Runs work and tells how long it took."""

    facts: DeviceFacts
    torch: Any

    def times_s(self, work: Callable[[], object], repetitions: int) -> list[float]:
        """Return the seconds of each of so many runs, all work of a run included."""
        ...

    def watch_memory(self) -> None:
        """Begin to watch how much memory is in use."""
        ...

    def peak_bytes(self, tensors: Sequence[Any]) -> int:
        """Return the most memory in use since then; where nobody counts, the bytes of ``tensors``."""
        ...

    def free_bytes(self) -> float:
        """Return how much may be allocated before something worse than an error happens; infinite if nothing."""
        ...

    def forget(self) -> None:
        """Give memory back after a size that did not fit."""
        ...


DEVICES: Mapping[str, Callable[[Any, str, int], Device]] = {"cpu": CpuDevice, "cuda": CudaDevice}
"""Device by name: ``(torch, precision, threads)`` to the device, or an error if it cannot compute so."""


def check_device(name: str, precision: str, threads: int = 0) -> None:
    """Refuse what no device is called or computes in; PyTorch is not needed to know.

    Raises
    ------
    InvalidInput
        With what is allowed.
    """
    check_known("device", name, (AUTO, *DEVICES))
    if precision in ("fp8", "fp4"):
        raise InvalidInput(f"precision: PyTorch has no whole operators in {precision}; measure bf16 or fp16")
    check_known("precision", precision, PRECISIONS)
    if threads < 0:
        raise InvalidInput(f"threads: expected an integer >= 0, got {threads}")


def find_device(name: str, precision: str, threads: int = 0) -> Device:
    """Return a device: ``cpu``, ``cuda``, or ``auto`` for a GPU where there is one.

    Parameters
    ----------
    threads : int
        Threads of a CPU; 0 for as many as PyTorch takes by itself.

    Raises
    ------
    InvalidInput
        If there is no such device here, it lacks the precision, or PyTorch is not installed.
    """
    check_device(name, precision, threads)
    torch = torch_here()
    if name == AUTO:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return DEVICES[name](torch, precision, threads)


def torch_here() -> Any:
    """Return the module ``torch``, imported here and nowhere else, when it is asked for.

    Raises
    ------
    InvalidInput
        If PyTorch is not installed, or cannot be loaded here.
    """
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError:
        raise InvalidInput(f"topoopt profile: PyTorch is not installed; {REMEDY}") from None
    except (ImportError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"topoopt profile: PyTorch cannot be loaded: {reason}; {REMEDY}") from None
