"""The catalogue knows each accelerator by its names and says what it lacks."""

import pickle

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import PRECISIONS, accelerators, find_accelerator


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("v100", "V100-SXM2-16GB"),
        ("a100", "A100-SXM4-40GB"),
        ("A100-80GB", "A100-SXM4-80GB"),
        ("h100", "H100-SXM5-80GB"),
        (" H200 ", "H200-SXM-141GB"),
        ("b200", "B200-SXM"),
        ("gb200-nvl72", "GB200-NVL72"),
        ("mi300x", "MI300X"),
        ("h20", "H20-SXM-96GB"),
        ("trillium", "TPUv6e"),
        ("ironwood", "TPUv7"),
        ("rubin", "VR200-NVL72"),
        ("gaudi-3", "Gaudi3"),
        ("910C", "Ascend910C"),
    ],
)
def test_a_friendly_name_finds_the_part(name: str, full: str) -> None:
    assert find_accelerator(name).name == full


def test_no_two_parts_share_a_name() -> None:
    names = [name.lower() for part in accelerators() for name in (part.name, *part.aliases)]
    assert len(names) == len(set(names))


def test_an_unknown_part_offers_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean h100") as caught:
        find_accelerator("h10")
    assert "\n" not in str(caught.value)


def test_the_a100_has_its_datasheet_figures() -> None:
    part = find_accelerator("a100")
    peaks = [part.peak_flops(precision) for precision in ("fp32", "tf32", "bf16", "fp16")]
    assert peaks == [19.5e12, 156e12, 312e12, 312e12]
    assert (part.memory_bytes, part.memory_bandwidth_bytes_per_s, part.tdp_w) == (40e9, 1555e9, 400)
    assert part.scale_up_bandwidth_bps == 2400e9  # NVLink 3: 300 GB/s each way


@pytest.mark.parametrize(
    ("name", "bf16", "fp8", "memory_gb_per_s", "tdp_w"),
    [
        ("rtx-4090", 165.2, 330.3, 1008, 450),
        ("rtx-5090", 209.5, 419, 1792, 575),
        ("l4", 121, 242.5, 300, 72),
        ("l40s", 362, 733, 864, 350),
        ("a10g", 70, None, 600, 300),
        ("a10", 125, None, 600, 150),
        ("a6000", 154.8, None, 768, 300),
        ("t4", None, None, 320, 70),
        ("mi210", 181, None, 1638.4, 300),
        ("mi350x", 2306.9, 4613.7, 8000, 1000),
        ("gb10", 125, 250, 273, 140),
    ],
)
def test_parts_that_people_own_have_dense_rates(
    name: str, bf16: float | None, fp8: float | None, memory_gb_per_s: float, tdp_w: float
) -> None:
    """Data sheets give twice as much with sparsity; GeForce cards count with sums in FP32, as training does them."""
    part = find_accelerator(name)
    for precision, rate in (("bf16", bf16), ("fp8", fp8)):
        assert part.peaks.get(precision) == (None if rate is None else pytest.approx(rate * 1e12))
    assert part.memory_bandwidth_bytes_per_s == pytest.approx(memory_gb_per_s * 1e9)
    assert part.tdp_w == tdp_w
    assert part.nic_bandwidth_bps
    assert part.scale_up_bandwidth_bps


def test_a_precision_that_the_part_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(InvalidInput) as caught:
        find_accelerator("a100").peak_flops("fp8")
    assert str(caught.value) == "precision: A100-SXM4-40GB has no fp8; it has fp32, tf32, bf16, fp16"
    with pytest.raises(InvalidInput, match="did you mean bf16"):
        find_accelerator("a100").peak_flops("bf61")
    with pytest.raises(InvalidInput, match="none of known rate"):
        find_accelerator("h100-96gb").peak_flops("fp32")


@pytest.mark.parametrize("part", accelerators(), ids=lambda part: part.name)
def test_every_part_is_plausible_and_sourced(part: object) -> None:
    row = next(row for row in accelerators() if row is part)
    assert row.source
    assert row.quality
    assert 16e9 <= row.memory_bytes <= 300e9
    assert 250e9 <= row.memory_bandwidth_bytes_per_s <= 25e12
    known = [row.peaks[precision] for precision in PRECISIONS if precision in row.peaks]
    assert known == sorted(known) or row.name in ("RTX3090", "L40S", "Gaudi3")  # narrower formats are faster
    assert pickle.loads(pickle.dumps(row)) == row
    assert hash(row) == hash(pickle.loads(pickle.dumps(row)))


@pytest.mark.parametrize(
    ("name", "gibibytes"), [("a100", 39.39), ("h100", 79.14), ("l40s", 44.39), ("mi300x", 191.98)]
)
def test_usable_memory_is_what_a_program_sees(name: str, gibibytes: float) -> None:
    """In GiB: from logs of PyTorch, TensorRT-LLM and vLLM, which the files of the parts name."""
    assert find_accelerator(name).usable_memory_bytes == pytest.approx(gibibytes * 2**30, rel=1e-5)


def test_usable_memory_is_at_most_what_the_maker_means_by_gb() -> None:
    for part in accelerators():
        assert 0.9 * part.memory_bytes < part.usable_memory_bytes <= part.memory_bytes / 1e9 * 2**30 * 1.01
