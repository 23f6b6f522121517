"""``topoopt llm search`` from the outside: its table, its JSON, its file, its mistakes."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import Topoopt, instead

GPT3 = (
    "llm", "search", "gpt3-175b", "--accelerators", "1024", "--accelerator", "a100-80gb", "--global-batch", "1536",
)  # fmt: skip
ROW = [
    "tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch", "zero", "recompute", "sequence_parallel",
    "schedule", "overlap_experts",
    "micro_batches", "iteration_time_s", "compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s",
    "exposed_communication_s", "mfu", "tokens_per_s", "memory_bytes",
]  # fmt: skip
DOLLARS = ["usd_per_hour", "usd_per_run", "usd_per_token", "usd_per_sample"]


def found(topoopt: Topoopt, *words: str) -> dict[str, Any]:
    ran = topoopt(*words, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)  # type: ignore[no-any-return]


def test_json_has_the_fastest_first_and_counts_what_was_searched(topoopt: Topoopt) -> None:
    document = found(topoopt, *GPT3, "--top", "3")
    rows = document["configurations"]
    assert [list(row) for row in rows] == [ROW + DOLLARS] * 3
    assert rows[0]["iteration_time_s"] <= rows[1]["iteration_time_s"] * 1.001
    assert all(row["memory_bytes"]["total"] <= document["memory_capacity_bytes"] for row in rows)
    causes = [size for cause, size in rows[0]["memory_bytes"].items() if cause != "total"]
    assert sum(causes) == pytest.approx(rows[0]["memory_bytes"]["total"])
    assert document["feasible"] + sum(document["too_large"].values()) == document["valid"] > 2000
    assert document["configurations_per_s"] > 0


def test_the_table_says_how_many_fit_and_where_the_time_goes(topoopt: Topoopt) -> None:
    ran = topoopt(*GPT3, "--top", "2")
    assert ran.code == 0
    assert "into 79.1 GiB" in ran.out
    assert "Where the time goes" in ran.out
    assert "too large" in ran.out


def test_degrees_that_are_given_are_not_searched(topoopt: Topoopt) -> None:
    document = found(
        topoopt, *GPT3, "--tp", "8", "--pp", "16", "--recompute", "full", "--no-sequence-parallel"
    )
    assert document["fixed"] == {"tp": 8, "pp": 16, "recompute": "full", "sequence_parallel": False}
    for row in document["configurations"]:
        assert (row["tp"], row["pp"], row["dp"], row["recompute"]) == (8, 16, 8, "full")


def test_limits_are_kept(topoopt: Topoopt) -> None:
    document = found(
        topoopt, *GPT3, "--max-tp", "2", "--max-vpp", "1", "--max-micro-batch", "1", "--top", "50"
    )
    assert {(row["tp"] <= 2, row["vpp"], row["micro_batch"]) for row in document["configurations"]} == {
        (True, 1, 1)
    }


def test_the_file_has_all_that_fit(topoopt: Topoopt, tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    document = found(topoopt, *GPT3, "--csv", str(path))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == document["feasible"]
    assert int(rows[0]["tp"]) == document["configurations"][0]["tp"]
    assert float(rows[0]["memory_activations_bytes"]) > 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--tp", "7"), "--tp 7: does not divide 96 heads; nearest: 6, 8"),
        (("--tp", "0"), "--tp: expected an integer >= 1, got 0"),
        (("--zero", "4"), '--zero: unknown name "4"'),
        (("--recompute", "some"), '--recompute: unknown name "some"'),
        (("--global-batch", "0"), "--global-batch: expected an integer from 1 to 1000000000, got 0"),
        (("--tp", "8", "--max-tp", "4"), "--tp 8: is above --max-tp 4; leave one of them out"),
        (("--precision", "fp8"), "precision: A100-SXM4-80GB has no fp8"),
        (("--precision", "f16"), 'precision: unknown name "f16"'),
        (("--framework", "jax"), 'framework: unknown name "jax"'),
        (("--attention", "flash"), '--attention: unknown name "flash"'),
        (("--max-vpp", "0"), "--max-vpp: expected an integer >= 1, got 0"),
        (("--top", "0"), "--top: expected an integer >= 1, got 0"),
        (("--csv", "rows.txt"), "--csv: rows.txt: expected a file name that ends in .csv or .parquet"),
        (("--accelerators", "8"), "does not fit on 8 A100-SXM4-80GB"),
        (("--accelerators", "0"), "--accelerators: expected an integer >= 1, got 0"),
        (("--accelerators", "9" * 20), "--accelerators: expected an integer <= 10000000, got 999"),
        (("--seq", "4096"), "--seq 4096: gpt3-175b has 2048 learned positions; at most 2048"),
    ],
)
def test_a_mistake_is_one_line(topoopt: Topoopt, words: tuple[str, ...], says: str) -> None:
    ran = topoopt(*instead(GPT3, *words))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert says in ran.err


def test_a_row_is_what_estimate_says_of_it(topoopt: Topoopt) -> None:
    (row,) = found(topoopt, *GPT3, "--tp", "8", "--pp", "8", "--recompute", "full", "--top", "1")[
        "configurations"
    ]
    degrees = [
        word
        for name in ("tp", "pp", "dp", "vpp", "micro_batch", "zero", "recompute")
        for word in (f"--{name.replace('_', '-')}", str(row[name]))
    ]
    sequence_parallel = ["--sequence-parallel"] if row["sequence_parallel"] else []
    alone = found(topoopt, "llm", "estimate", *GPT3[2:], *degrees, *sequence_parallel)
    for name in ("iteration_time_s", "tokens_per_s", "mfu", "bubble_s", "exposed_communication_s"):
        assert alone[name] == pytest.approx(row[name]), name
    assert alone["memory_bytes"] == pytest.approx(row["memory_bytes"])
    assert alone["fits"]
