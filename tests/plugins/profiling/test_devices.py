"""Devices by name, what they refuse, and how a GPU is timed."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling import check_device
from topoopt.plugins.profiling.device import CpuDevice, CudaDevice, catalogue_name, find_device


class FakeTorch:
    """As much of PyTorch as timing on a GPU touches. An event notes the time at which the GPU meets it."""

    __version__ = "2.13.0+cu130"

    def __init__(self, gpus: int = 1) -> None:
        self.log: list[str] = []
        self.now_ms = 0.0
        self.precision = ""
        log, fake = self.log, self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                log.append("record")
                self.at_ms = fake.now_ms

            def elapsed_time(self, other: "Event") -> float:
                return other.at_ms - self.at_ms

        self.version = SimpleNamespace(cuda="13.0" if gpus else None)
        self.backends = SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=True))
        self.cuda = SimpleNamespace(
            is_available=lambda: gpus > 0,
            get_device_name=lambda: "NVIDIA H100 80GB HBM3",
            get_device_properties=lambda index: SimpleNamespace(total_memory=85_029_158_912),
            synchronize=lambda: log.append("synchronize"),
            reset_peak_memory_stats=lambda: log.append("watch"),
            max_memory_allocated=lambda: 4096,
            empty_cache=lambda: log.append("forget"),
            Event=Event,
        )

    def set_float32_matmul_precision(self, word: str) -> None:
        self.precision = word


def test_a_gpu_is_timed_by_its_own_events_and_waited_for_before_and_after() -> None:
    torch: Any = FakeTorch()
    device = CudaDevice(torch, "bf16")

    def work() -> None:
        torch.log.append("work")
        torch.now_ms += 2.0

    assert device.times_s(work, 2) == pytest.approx([2e-3, 2e-3])
    once = ["record", "work", "record"]
    assert torch.log == ["synchronize", *once, *once, "synchronize"]
    device.watch_memory()
    device.forget()
    assert torch.log[-2:] == ["watch", "forget"]
    assert device.peak_bytes(()) == 4096
    assert device.free_bytes() == float("inf")


def test_a_gpu_is_found_in_the_catalogue() -> None:
    facts = CudaDevice(FakeTorch(), "bf16").facts
    assert (facts.kind, facts.accelerator, facts.threads) == ("cuda", "H100-SXM5-80GB", 0)


@pytest.mark.parametrize(("precision", "words"), [("fp32", ("highest", False)), ("tf32", ("high", True))])
def test_tensor_cores_take_32_bit_numbers_only_where_asked(precision: str, words: tuple[str, bool]) -> None:
    torch: Any = FakeTorch()
    CudaDevice(torch, precision)
    assert (torch.precision, torch.backends.cudnn.allow_tf32) == words


def test_a_gpu_that_is_not_there_is_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"no GPU here \(PyTorch 2.13.0\+cu130 is a build without CUDA\)"):
        CudaDevice(FakeTorch(gpus=0), "fp32")
    with pytest.raises(InvalidInput, match="threads: is for device=cpu"):
        CudaDevice(FakeTorch(), "fp32", threads=2)


@pytest.mark.parametrize(
    ("name", "gigabytes", "known"),
    [
        ("NVIDIA A100-SXM4-40GB", 42.4, "A100-SXM4-40GB"),
        ("NVIDIA A100-SXM4-80GB", 85.1, "A100-SXM4-80GB"),
        ("NVIDIA A100 80GB PCIe", 85.1, "A100-PCIE-80GB"),
        ("NVIDIA H100 80GB HBM3", 85.0, "H100-SXM5-80GB"),
        ("NVIDIA H100 PCIe", 85.0, "H100-PCIE-80GB"),
        ("NVIDIA H200", 150.0, "H200-SXM-141GB"),
        ("Tesla V100-SXM2-16GB", 16.9, "V100-SXM2-16GB"),
        ("NVIDIA GeForce RTX 3090", 25.4, "RTX3090"),
        ("NVIDIA L40S", 47.8, "L40S"),
        ("NVIDIA L4", 23.7, "L4"),
        ("NVIDIA A10G", 23.7, "A10G"),
        ("NVIDIA A10", 23.7, "A10"),
        ("NVIDIA RTX A6000", 51.0, "RTX-A6000"),
        ("NVIDIA GeForce RTX 4090", 25.4, "RTX4090"),
        ("NVIDIA GeForce RTX 5090", 33.7, "RTX5090"),
        ("Tesla T4", 15.6, "T4"),
        ("NVIDIA GB10", 128.5, "GB10"),
        ("AMD Instinct MI210", 68.7, "MI210"),
        ("AMD Instinct MI350X", 309.2, "MI350X"),
        ("NVIDIA T1000", 4.0, ""),
        ("NVIDIA H100 80GB HBM3", 10.6, ""),  # a slice of one
    ],
)
def test_names_of_drivers_are_names_of_the_catalogue(name: str, gigabytes: float, known: str) -> None:
    assert catalogue_name(name, gigabytes * 1e9) == known


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gpu", "fp32"), 'device: unknown name "gpu"'),
        (("cpu", "fp8"), "PyTorch has no whole operators in fp8; measure bf16 or fp16"),
        (("cpu", "f32"), 'precision: unknown name "f32"; did you mean tf32 or fp32'),
        (("cpu", "fp32", -1), "threads: expected an integer >= 0, got -1"),
    ],
)
def test_what_no_device_is_or_does_is_refused_without_pytorch(words: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        check_device(*words)


def test_without_pytorch_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidInput, match=r'PyTorch is not installed; pip install "topoopt\[torch\]"'):
        find_device("auto", "fp32")


def test_a_cpu_has_no_tensor_cores_and_a_limit_of_memory() -> None:
    with pytest.raises(InvalidInput, match="tf32 is of NVIDIA's tensor cores"):
        CpuDevice(FakeTorch(), "tf32")
    torch = SimpleNamespace(
        __version__="2.13.0", get_num_threads=lambda: 3, set_num_threads=lambda count: None
    )
    device = CpuDevice(torch, "fp32", threads=3)
    assert (device.facts.kind, device.facts.threads) == ("cpu", 3)
    assert device.facts.name
    assert 0 < device.free_bytes() < float("inf")
