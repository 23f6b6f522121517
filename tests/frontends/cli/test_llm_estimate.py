"""``topoopt llm estimate`` and ``llm calibrate`` from the outside: JSON, tables, files, mistakes."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line
from topoopt.transformers import read_calibration

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
EXAMPLE = Path(__file__).parents[3] / "examples" / "runs.csv"
GPT3 = ("llm", "estimate", "gpt3-175b", "--tp", "8", "--pp", "8", "--dp", "4")
KEYS = {
    "iteration_time_s", "compute_s", "tp_s", "pp_s", "dp_s", "ep_s", "cp_s", "bubble_s", "exposed_communication_s",
    "mfu", "flops_per_accelerator", "tokens_per_s", "memory_bytes", "fits",
}  # fmt: skip


def answer(topoopt: Topoopt, *words: str) -> dict[str, Any]:
    ran = topoopt(*words, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)  # type: ignore[no-any-return]


def some_runs(path: Path, *names: str) -> str:
    """Write a few of the published runs, and one that cannot be modelled."""
    with (DATA / "train_runs.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["id"] in names]
    rows.append({**rows[0], "id": "broken", "tp": "7"})
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


MULTI = [f"vtrain_multi_{number}" for number in range(80)]


def test_the_parts_of_an_estimate_add_up(topoopt: Topoopt) -> None:
    found = answer(topoopt, *GPT3)
    assert set(found) >= KEYS
    parts = ("compute_s", "exposed_communication_s", "bubble_s")
    assert sum(found[part] for part in parts) == pytest.approx(found["iteration_time_s"])
    causes = {cause: size for cause, size in found["memory_bytes"].items() if cause != "total"}
    assert sum(causes.values()) == pytest.approx(found["memory_bytes"]["total"])
    assert found["mfu"] == pytest.approx(found["flops_per_accelerator"] / 989e12)
    assert found["fits"] == (found["memory_bytes"]["total"] <= found["memory_capacity_bytes"])


def test_no_overlap_may_be_repeated(topoopt: Topoopt) -> None:
    words = (
        "llm",
        "estimate",
        "llama3-8b",
        "--accelerators",
        "64",
        "--tp",
        "8",
        "--sequence-parallel",
        "--zero",
        "3",
    )
    both = answer(topoopt, *words, "--no-overlap", "tensor", "--no-overlap", "gathers")
    listed, last = (answer(topoopt, *words, "--no-overlap", names) for names in ("tensor,gathers", "gathers"))
    assert both["iteration_time_s"] == listed["iteration_time_s"] > last["iteration_time_s"]


@pytest.mark.parametrize(
    "words",
    [
        ("llm", "estimate", "llama3-8b", "--accelerators", "8"),
        ("llm", "search", "llama3-8b", "--accelerators", "8"),
        ("plan", "llama3-8b", "--servers", "2"),
    ],
)
def test_an_empty_overlap_is_the_same_mistake_everywhere(topoopt: Topoopt, words: tuple[str, ...]) -> None:
    ran = topoopt(*words, "--no-overlap", "")
    assert ran.code == 2
    assert_one_line(ran, 'no-overlap: unknown name ""; Known: gathers, gradients, replicas, tensor')


def test_recomputation_that_is_not_given_is_assumed_aloud_where_it_does_not_fit_without(
    topoopt: Topoopt,
) -> None:
    sharing = ("--zero", "0", "--no-sequence-parallel", "--bandwidth", "400Gbps")
    split = ("llm", "estimate", "llama3-70b", "--accelerators", "512", "--tp", "8", "--pp", "4")
    words = (*split, *sharing)
    found = answer(topoopt, *words)
    assert found["fits"]
    assert found["configuration"]["recompute"] == "full"
    assert found["assumed"] == "--recompute full, because without it 97.7 of 79.1 GiB are needed"
    assert f"assumed       {found['assumed']}" in topoopt(*words).out
    asked = answer(topoopt, *words, "--recompute", "none")
    assert not asked["fits"]
    assert asked["assumed"] == ""
    shared = answer(topoopt, *split)
    assert shared["fits"]
    assert shared["configuration"]["recompute"] == "none"
    assert shared["assumed"].startswith("--zero 1 --sequence-parallel; 8 × 400 Gb/s per server")


def test_the_published_formula_is_another_estimator(topoopt: Topoopt) -> None:
    words = (*GPT3, "--accelerator", "v100", "--precision", "fp16")
    calibrated, published = answer(topoopt, *words), answer(topoopt, *words, "--estimator", "apnet24")
    assert (calibrated["estimator"], published["estimator"]) == ("calibrated", "apnet24")
    assert calibrated["transferred_from"] == "a100-sxm4-80gb"
    assert published["calibration"] is None
    assert set(published) == set(calibrated)


def test_the_table_warns_of_memory_and_of_numbers_that_are_carried_over(topoopt: Topoopt) -> None:
    ran = topoopt(*GPT3, "--accelerator", "v100", "--precision", "fp16")
    assert "gpt3-175b on 256 x V100-SXM2-16GB" in ran.out
    assert "It does not fit into memory: " in ran.out
    assert "carried over from a100-sxm4-80gb" in ran.out


def test_every_run_of_a_table_is_predicted_or_has_its_reason(topoopt: Topoopt, tmp_path: Path) -> None:
    runs, out = some_runs(tmp_path / "runs.csv", *MULTI), tmp_path / "out.csv"
    found = answer(topoopt, "llm", "estimate", "--runs", runs, "--out", str(out))
    assert found["rows"] == found["modelled"] + len(found["not_scored"])
    assert found["not_scored"][0]["id"] == "broken"
    assert "tp·pp·cp" in found["not_scored"][0]["reason"]
    assert found["mape_by_dataset"]["vtrain_multi"] < 10
    assert set(found["bias_by_dataset"]) == set(found["mape_by_dataset"])
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == found["rows"]
    first = rows[0]
    off = 100 * (float(first["predicted_iter_time_s"]) / float(first["iter_time_s"]) - 1)
    assert off == pytest.approx(float(first["error_percent"]), abs=0.01)
    assert rows[-1]["not_scored"]
    assert not rows[-1]["predicted_iter_time_s"]


def test_a_calibration_of_ones_own_is_fitted_written_and_used(
    topoopt: Topoopt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topoopt.measurements.fit.BEGINNINGS", 0)  # a fifth of the time
    runs, mine = some_runs(tmp_path / "runs.csv", *MULTI[:12]), str(tmp_path / "mine.toml")
    words = (
        "llm",
        "calibrate",
        runs,
        "--start",
        "h100",
        "--attention",
        "eager",
        "--strength",
        "1",
        "--out",
        mine,
    )
    found = answer(topoopt, *words)
    assert found["accelerator"] == "A100-SXM4-80GB"
    assert found["in_sample"]["all"]["mape"] < found["before"]["all"]["mape"]
    assert {"cross_validated", "leave_one_size_out", "parameters", "provenance"} <= set(found)
    assert [row["id"] for row in found["not_scored"]] == ["broken"]
    assert found["other_runs"] == {}
    assert read_calibration(mine).attention == "eager"
    again = answer(topoopt, "llm", "estimate", "--runs", runs, "--calibration", mine)
    measured = found["in_sample"]["vtrain_multi"]["mape"]
    assert again["mape_by_dataset"]["vtrain_multi"] == pytest.approx(measured, abs=0.3)


def test_time_and_memory_have_the_same_attention(topoopt: Topoopt) -> None:
    """Fused where the calibration knows both, as the A100's; eager where it has nothing else, as the V100's."""
    usual, fused, eager = (
        answer(topoopt, *GPT3, "--accelerator", "a100-80gb", *words)
        for words in ((), ("--attention", "fused"), ("--attention", "eager"))
    )
    assert usual == fused
    assert (usual["attention"], eager["attention"]) == ("fused", "eager")
    assert usual["iteration_time_s"] < eager["iteration_time_s"]
    assert usual["memory_bytes"]["total"] < eager["memory_bytes"]["total"]
    assert answer(topoopt, *GPT3, "--accelerator", "v100")["attention"] == "eager"


def test_a_calibration_of_another_accelerator_is_said_so(topoopt: Topoopt) -> None:
    words = (*GPT3, "--calibration", "a100-80gb")
    assert answer(topoopt, *words)["calibrated_on"] == "A100-SXM4-80GB"
    assert "The calibration is of A100-SXM4-80GB, not of H100-SXM5-80GB." in topoopt(*words).out


MISTAKES = [
    ((*GPT3, "--estimator", "exact"), '--estimator: unknown name "exact"; Known: apnet24, calibrated'),
    ((*GPT3, "--attention", "flash"), '--attention: unknown name "flash"; Known: eager, fused'),
    ((*GPT3, "--out", "out.csv"), "--out: writes the table of --runs"),
    ((*GPT3, "--calibration", "none.toml"), "none.toml: no such file"),
    ((*GPT3, "--estimator", "apnet24", "--calibration", "x.toml"), "--calibration: the published formula"),
    ((*GPT3, "--precision", "fp4"), "H100-SXM5-80GB has no fp4"),
    ((*GPT3, "--runs", "runs.csv"), "MODEL: with --runs, every row of the table says its own; leave it out"),
    (("llm", "estimate", "--runs", "none.csv"), "none.csv: no such file"),
    (("llm", "estimate", "--runs", "none.csv", "--tp", "2"), "--tp: with --runs"),
    (
        ("llm", "estimate", "--runs", "none.csv", "--estimator", "apnet24"),
        "--estimator: is for one way of training, not for a table of runs",
    ),
    (("llm", "calibrate", "none.csv"), "none.csv: no such file"),
    (("llm", "calibrate", str(EXAMPLE), "--accelerator", "v100"), "no timed run of V100-SXM2-16GB"),
    (("llm", "calibrate", str(DATA / "flexnet_fluid.csv")), "not a table of runs: there is no column gpus"),
    (
        ("llm", "calibrate", str(EXAMPLE), "--accelerator", "h100", "--weight", "vtrain=2"),
        '--weight: unknown name "vtrain"',
    ),
    (
        (
            "llm",
            "calibrate",
            str(DATA / "train_runs.csv"),
            "--accelerator",
            "h100",
            "--weight",
            "mosaic_mpt=-1",
        ),
        "--weight: expected DATASET=X with a positive number",
    ),
    ((*GPT3, "--framework", ""), 'framework: unknown name ""'),
    (
        ("llm", "estimate", "--runs", str(EXAMPLE), "--out", str(EXAMPLE)),
        "runs.csv is the file that is read; give another name",
    ),
    (("llm", "calibrate", "none.csv", "--seed", "-1"), "--seed: expected an integer >= 0, got -1"),
    (
        ("llm", "calibrate", "none.csv", "--start", ""),
        "--start: expected neutral, a name or a file, got nothing",
    ),
    (("llm", "calibrate", "none.csv", "--strength", "0"), "--strength: must be positive, got 0"),
    (("llm", "calibrate", "none.csv", "--attention", "x"), '--attention: unknown name "x"'),
]


@pytest.mark.parametrize(
    ("words", "message"),
    MISTAKES,
    ids=lambda value: " ".join(value[2:]) if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_line(topoopt: Topoopt, words: tuple[str, ...], message: str) -> None:
    assert_one_line(topoopt(*words), message)
