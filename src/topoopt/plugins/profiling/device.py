"""Protocol of devices that measure operators, and the table of devices."""

import importlib
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import available_bytes
from topoopt.catalog import accelerator_files, accelerators, find_accelerator
from topoopt.workloads import DeviceFacts

_MAKER = re.compile(r"^(NVIDIA|TESLA|AMD|INSTINCT|GEFORCE)\s+")
_SLACK = 0.12
"""Drivers keep a part of the memory to themselves."""


class CudaDevice:
    """The GPU that PyTorch takes by itself; ``CUDA_VISIBLE_DEVICES`` chooses another one.

    Raises
    ------
    InvalidInput
        If there is no GPU, PyTorch is a build without CUDA, or threads are requested.
    """

    def __init__(self, torch: Any, precision: str, threads: int = 0) -> None:
        if threads:
            raise InvalidInput("threads: is for device=cpu")
        if not torch.cuda.is_available():
            built = "has CUDA and finds no GPU" if torch.version.cuda else "is a build without CUDA"
            raise InvalidInput(f"device: no GPU here (PyTorch {torch.__version__} {built}); use device=cpu")
        name = str(torch.cuda.get_device_name())
        self.torch = torch
        self.facts = DeviceFacts(
            kind="cuda",
            name=name,
            accelerator=catalogue_name(name, int(torch.cuda.get_device_properties(0).total_memory)),
            torch=str(torch.__version__),
            precision=precision,
        )
        # PyTorch's own defaults differ between matrix products and convolutions.
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"

    def times_s(self, work: Callable[[], object], repetitions: int) -> list[float]:
        """Return the seconds between an event before and an event after each run, as the GPU meets them."""
        cuda = self.torch.cuda
        events = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(repetitions)
        ]
        cuda.synchronize()
        for before, after in events:
            before.record()
            work()
            after.record()
        cuda.synchronize()
        return [float(before.elapsed_time(after)) * 1e-3 for before, after in events]

    def watch_memory(self) -> None:
        """Begin to watch the peak of PyTorch's allocator."""
        self.torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self, tensors: Sequence[Any]) -> int:
        """Return the peak of PyTorch's allocator."""
        return int(self.torch.cuda.max_memory_allocated())

    def free_bytes(self) -> float:
        """Return infinity: a GPU refuses an allocation that does not fit, without further effects."""
        return float("inf")

    def forget(self) -> None:
        """Return cached blocks to the GPU."""
        self.torch.cuda.empty_cache()


SAFE_PART = 0.8
"""Fraction of the available memory that is used: beyond it the system may kill the process instead of refusing."""


class CpuDevice:
    """The processor, timed with the clock of the process that waits for it.

    Parameters
    ----------
    threads : int
        Threads that PyTorch computes with; 0 for as many as it takes by itself.

    Raises
    ------
    InvalidInput
        If the precision is tf32, which only tensor cores support.
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
        """Return the time of each run in seconds."""
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
        """Return the safe part of the memory left to the system, or to the group of processes."""
        return SAFE_PART * available_bytes()

    def forget(self) -> None:
        """Do nothing: memory is returned automatically."""


REMEDY = 'pip install "topoopt[torch]"'
AUTO = "auto"
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
"""Precisions that PyTorch has whole operators for; it has none in fp8."""
DTYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class Device(Protocol):
    """Runs work and measures its duration."""

    facts: DeviceFacts
    torch: Any

    def times_s(self, work: Callable[[], object], repetitions: int) -> list[float]:
        """Return the time of each run in seconds, including all of its work."""
        ...

    def watch_memory(self) -> None:
        """Begin to watch how much memory is in use."""
        ...

    def peak_bytes(self, tensors: Sequence[Any]) -> int:
        """Return the peak memory since then; where it is not counted, the bytes of ``tensors``."""
        ...

    def free_bytes(self) -> float:
        """Return the memory that can be allocated safely; infinite where a failed allocation is only an error."""
        ...

    def forget(self) -> None:
        """Free memory after a size that did not fit."""
        ...


DEVICES: Mapping[str, Callable[[Any, str, int], Device]] = {"cpu": CpuDevice, "cuda": CudaDevice}
"""Device by name: ``(torch, precision, threads)`` to the device, or an error if it cannot compute so."""


def check_device(name: str, precision: str, threads: int = 0) -> None:
    """Refuse unknown device names and precisions; PyTorch is not needed for this.

    Raises
    ------
    InvalidInput
        With the allowed values.
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
    """Import and return ``torch``; it is imported only here, on demand.

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


def processor_name() -> str:
    """Return the processor's name, or its architecture."""
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


def catalogue_name(device_name: str, memory_bytes: float) -> str:
    """Return the name in the catalogue, or nothing where no row fits name and memory.

    Examples
    --------
    >>> catalogue_name("NVIDIA H100 80GB HBM3", 85e9), catalogue_name("Tesla V100-SXM2-16GB", 16.9e9)
    ('H100-SXM5-80GB', 'V100-SXM2-16GB')
    """
    name = device_name.strip().upper()
    while _MAKER.match(name):
        name = _MAKER.sub("", name)
    exact = [part.name for part in accelerators() if part.name.upper() == name.replace(" ", "-")]
    spoken = [
        one.accelerator.name
        for one in accelerator_files()
        if any(re.search(rf"\b{re.escape(part.upper())}\b", name) for part in one.device_names)
    ]
    for known in (*exact, *spoken):
        if abs(memory_bytes / find_accelerator(known).memory_bytes - 1) < _SLACK:
            return known
    return ""
