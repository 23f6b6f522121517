"""Twenty jobs that do not fit: causes add up, the remedy is true, and none of the changes beside it is cheaper."""

from itertools import product
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.transformers import Estimate
from topoopt.transformers.estimate import SLACK

A100: dict[str, Any] = {"accelerator": "a100-80gb"}
H800: dict[str, Any] = {
    "accelerators": 2048,
    "accelerator": "h800",
    "tp": 1,
    "pp": 16,
    "ep": 64,
    "global_batch": 15360,
    "zero": 1,
}
JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "optimizer": (
        "llama3-8b",
        {"accelerators": 8, "tp": 1, "global_batch": 8, "recompute": "full", "zero": 0},
    ),
    "dense": ("llama3-70b", {"accelerators": 64, "tp": 8, "pp": 2, "global_batch": 128}),
    "split": (
        "llama3-70b",
        {
            "accelerators": 64,
            "tp": 4,
            "pp": 4,
            "global_batch": 128,
            "micro_batch": 2,
            "sequence_parallel": True,
        },
    ),
    "wide": (
        "gpt3-175b",
        {**A100, "accelerators": 128, "tp": 8, "pp": 4, "global_batch": 256, "micro_batch": 4},
    ),
    "scores": (
        "gpt3-175b",
        {**A100, "accelerators": 64, "tp": 8, "pp": 8, "global_batch": 64, "attention": "eager"},
    ),
    "chunks": (
        "llama3.1-405b",
        {"accelerators": 1024, "tp": 8, "pp": 8, "vpp": 8, "global_batch": 512, "sequence_parallel": True},
    ),
    "logits": ("gemma2-27b", {"accelerators": 32, "tp": 1, "pp": 4, "global_batch": 64, "micro_batch": 4}),
    "last stage": (
        "llama3-8b",
        {
            "accelerators": 16,
            "tp": 1,
            "pp": 4,
            "global_batch": 128,
            "micro_batch": 8,
            "seq": 8192,
            "recompute": "full",
            "framework": "scaling",
        },
    ),
    "experts": (
        "mixtral-8x7b",
        {"accelerators": 64, "tp": 2, "pp": 1, "ep": 8, "global_batch": 256, "micro_batch": 4},
    ),
    "few experts": (
        "mixtral-8x7b",
        {"accelerators": 64, "tp": 1, "pp": 4, "ep": 2, "global_batch": 256, "micro_batch": 2},
    ),
    "latent": ("deepseek-v3", H800),
    "two ways": ("deepseek-v3", {**H800, "schedule": "dualpipe", "precision": "fp8", "recompute": "norms"}),
    "blackwell": (
        "deepseek-v3",
        {
            "accelerators": 256,
            "accelerator": "b200",
            "pp": 4,
            "ep": 32,
            "tp": 1,
            "global_batch": 2048,
            "precision": "fp8",
        },
    ),
    "recurrences": (
        "qwen3-next-80b-a3b",
        {"accelerators": 64, "tp": 1, "pp": 2, "ep": 8, "global_batch": 256, "micro_batch": 2},
    ),
    "hybrid": (
        "nemotron-h-8b",
        {"accelerators": 8, "tp": 1, "pp": 1, "global_batch": 64, "micro_batch": 4, "seq": 8192},
    ),
    "fsdp": (
        "llama3-70b",
        {"accelerators": 32, "tp": 1, "pp": 1, "global_batch": 32, "zero": 3, "framework": "fsdp"},
    ),
    "torchtitan": (
        "llama3-70b",
        {
            "accelerators": 64,
            "tp": 1,
            "pp": 1,
            "global_batch": 128,
            "micro_batch": 2,
            "zero": 3,
            "framework": "torchtitan",
        },
    ),
    "zero 2": (
        "llama3-8b",
        {
            "accelerators": 8,
            "tp": 1,
            "pp": 1,
            "global_batch": 32,
            "micro_batch": 4,
            "seq": 8192,
            "zero": 2,
            "framework": "fsdp",
        },
    ),
    "adapters": (
        "llama2-70b",
        {"accelerators": 8, "tp": 1, "pp": 1, "global_batch": 8, "adapter_rank": 16, "seq": 8192},
    ),
    "long": (
        "llama3-70b",
        {
            "accelerators": 64,
            "tp": 8,
            "pp": 1,
            "cp": 2,
            "global_batch": 64,
            "context": "ulysses",
            "seq": 65536,
            "sequence_parallel": True,
        },
    ),
}
SINGLE: tuple[dict[str, Any], ...] = tuple(
    {key: value}
    for key, values in {"zero": (1, 2, 3), "micro_batch": (1,), "recompute": ("none", "full")}.items()
    for value in values
)


def of(name: str, **changes: Any) -> Estimate:
    model, words = JOBS[name]
    usual = {"zero": 1, "recompute": "none", "sequence_parallel": False}
    return topoopt.llm.estimate(model, **{**usual, **words, **changes})


@pytest.mark.parametrize("name", JOBS)
def test_causes_add_up_to_what_is_missing_and_the_remedy_is_true(name: str) -> None:
    found = of(name)
    causes, needed = found.memory.row(0), found.memory.total[0]
    assert sum(causes.values()) == pytest.approx(needed)
    assert found.missing_bytes == pytest.approx(needed - found.memory.capacity_bytes)
    assert found.missing_bytes > 0
    assert found.largest_cause == max(causes, key=lambda cause: causes[cause])
    remedy = found.remedy
    assert remedy is not None
    changed = of(name, **remedy.changes)
    assert changed.fits
    assert changed.iteration_time_s == pytest.approx(remedy.iteration_time_s)
    assert changed.memory.total[0] == pytest.approx(remedy.total_bytes)


FEW = ("dense", "experts", "two ways", "hybrid", "fsdp", "zero 2", "adapters", "long")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.long) for name in JOBS]
)
def test_no_change_of_one_setting_and_one_split_that_fits_is_cheaper(name: str) -> None:
    found = of(name)
    assert found.remedy is not None
    one, shortest = found.configuration, found.remedy.iteration_time_s / (1 + SLACK)
    halved: list[dict[str, int]] = [
        {key: 2 * getattr(one, key), "dp": one.dp // 2} for key in ("tp", "pp", "cp") if one.dp % 2 == 0
    ]
    shares = found.framework in ("fsdp", "torchtitan")
    for change, split in product(({}, *SINGLE), ({}, *halved)):
        if change.get("zero", 1) > 1 and not shares:
            continue  # gradients that are shared out are for those who gather
        if split.get("tp", 1) > 8:
            continue
        for sequence_parallel in {one.sequence_parallel, split.get("tp", one.tp) > 1}:
            try:
                tried = of(name, **change, **split, sequence_parallel=sequence_parallel)
            except InvalidInput:
                continue
            assert not tried.fits or tried.iteration_time_s >= shortest, (change, split)
