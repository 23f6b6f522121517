"""Operators on a GPU, timed with events of the GPU itself."""

from collections.abc import Callable, Sequence
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling.device_names import catalogue_name
from topoopt.workloads import DeviceFacts


class CudaDevice:
    """The GPU that PyTorch takes by itself; ``CUDA_VISIBLE_DEVICES`` chooses another one.

    Raises
    ------
    InvalidInput
        If there is no GPU, PyTorch is a build without CUDA, or threads are asked for.
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
        """Return infinity: a GPU refuses what does not fit, and nothing else happens."""
        return float("inf")

    def forget(self) -> None:
        """Give cached blocks back to the GPU."""
        self.torch.cuda.empty_cache()
