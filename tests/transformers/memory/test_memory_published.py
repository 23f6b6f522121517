"""Memory against what Megatron Core and FSDP allocate by measurement, and layouts that published runs had.

No constant was fitted to any of these rows.
"""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topoopt.transformers import FRAMEWORKS, Configuration, MemoryColumns, configuration_table, memory
from topoopt.transformers.memory.accelerator import common_of, stage_memory
from topoopt.workloads.transformer import TransformerModel, find_transformer

DATA = Path(__file__).parent / "data"
GIBIBYTE = 2**30
COUNTS = ("tp", "pp", "vpp", "cp", "ep", "dp", "micro_batch", "global_batch", "sequence", "zero")


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def configuration(row: dict[str, str], **words: str) -> Configuration:
    values: dict[str, Any] = {key: int(row[key]) for key in COUNTS if key in row}
    values |= {key: row[key] for key in ("recompute", "precision") if key in row}
    usual = {"zero": 1, "global_batch": 4 * values["dp"], "sequence_parallel": values["tp"] > 1}
    return Configuration(**{**usual, **values, **words})


def needed(model: TransformerModel, one: Configuration, accelerator: str, framework: str) -> MemoryColumns:
    return memory(
        replace(model, sequence=one.sequence), configuration_table([one]), accelerator, "fused", framework
    )


@pytest.mark.parametrize(
    "row", rows("simumax_memory.csv"), ids=lambda row: f"{row['model']}-{row['tp']}-{row['cp']}"
)
def test_what_megatron_core_allocates_is_within_four_percent(row: dict[str, str]) -> None:
    """The worst is -3.0 %: context parallel ranks that exchange heads keep attention's output twice."""
    model = replace(find_transformer(row["model"]), layers=int(row["layers"]), mtp_layers=0)
    if row["kv_heads"]:
        model = replace(model, kv_heads=int(row["kv_heads"]))
    if model.experts:  # of which capacity 1 is padded to, behind one dense layer
        model = replace(model, experts=replace(model.experts, first_dense_layers=1, capacity_factor=1.0))
    found = needed(model, configuration(row, gradients="fp32", context="ulysses"), "b200", "nemo")
    tensors = (found.total[0] - found.overhead[0]) / GIBIBYTE
    assert tensors == pytest.approx(float(row["allocated_gib"]), rel=0.04)


@pytest.mark.parametrize("row", rows("torchtitan_memory.csv"), ids=lambda row: row["id"])
def test_what_fsdp_reserves_is_within_fifteen_percent(row: dict[str, str]) -> None:
    """But the row with sequences of 262,144 tokens, which has 20 % more than that with half of them."""
    found = needed(find_transformer(row["model"]), configuration(row), "h200", row["framework"])
    tensors = found.total[0] + found.slack[0] - found.overhead[0]
    reserved = (tensors + FRAMEWORKS[row["framework"]].reserved_bytes) / GIBIBYTE
    assert reserved == pytest.approx(float(row["reserved_gib"]), rel=0.15 if row["id"] != "t6 cp8" else 0.16)


MEASURED = [row for row in rows("published_layouts.csv") if row["rank0_gib"]]


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: row["id"])
def test_what_rank_0_had_in_fp8_is_within_three_percent(row: dict[str, str]) -> None:
    """Its stage has the embedding and, in its first chunk, one layer less, whose micro-batches are most in flight.

    The benchmark's tokenizer has 32,000 words.
    """
    one = configuration(row)
    model = replace(find_transformer("llama3.1-405b"), sequence=one.sequence, vocabulary=32000)
    table = configuration_table([one])
    common = common_of(model, table, row["accelerator"], "fused", row["framework"])
    found = stage_memory(common, np.zeros(1, np.int64))
    tensors = (found.total[0] - found.overhead[0]) / GIBIBYTE
    assert tensors == pytest.approx(float(row["rank0_gib"]), rel=0.03)


LAYOUTS = {row["id"]: row for row in rows("published_layouts.csv")}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_llama_3_405b_that_ran_fit(name: str) -> None:
    row = LAYOUTS[name]
    found = needed(
        find_transformer("llama3.1-405b"), configuration(row), row["accelerator"], row["framework"]
    )
    assert found.fits[0]


def test_without_what_enters_its_chunks_the_longest_pipeline_of_llama_3_fits() -> None:
    """141 chunks of a layer each, of 8,192 tokens of 16,384 / 8 numbers; with them it is 5 % too large."""
    row = LAYOUTS["llama3_8192_8192"]
    own, usual = (
        needed(find_transformer("llama3.1-405b"), configuration(row), "h100", name)
        for name in ("llama3", "fsdp")
    )
    assert usual.activations[0] - own.activations[0] == 141 * 8192 * 2 * 16384 / 8
    assert not usual.fits[0]
