"""Tables of measured runs: what is predicted, what is scored, what is refused."""

from pathlib import Path

import numpy as np
import pytest

from topoopt.measurements.serving import PredictedServing, predict_served_runs
from topoopt.schema.files import packaged_rows

RUNS = Path(__file__).parents[3] / "benchmarks" / "data" / "serving_runs.csv"


@pytest.fixture(scope="module")
def answer() -> PredictedServing:
    return predict_served_runs(str(RUNS))


def test_every_row_is_predicted_or_listed_with_a_reason(answer: PredictedServing) -> None:
    rows = len(RUNS.read_text().splitlines()) - 1
    listed = {one.row.name for one in answer.not_scored}
    predicted = [one.run.row.name for one in answer.predictions]
    assert len(predicted) + len(listed - set(predicted)) == rows
    assert all(one.reason for one in answer.not_scored)
    assert not any("unknown" in one.reason for one in answer.not_scored)


@pytest.mark.parametrize(
    ("quantity", "dataset", "mean", "median"),
    [
        ("tpot", "silicon_sample", 7, 4),
        ("tpot", "nim180", 7, 5),
        ("ttft", "silicon_sample", 25, 18),
        ("e2e", "fastertransformer", 5, 4),
        ("offline_throughput", "trtllm10", 14, 9),
        ("kv_transfer", "mooncake", 7, 5),
        ("kv_bytes", "mooncake", 0.6, 0.6),
    ],
)
def test_fitted_rows_are_met_as_when_they_were_fitted(
    answer: PredictedServing, quantity: str, dataset: str, mean: float, median: float
) -> None:
    """Rows in sight: that constants and law still belong together. docs/serving-accuracy.md has rows left out."""
    error = answer.errors_by(quantity, "dataset")[dataset]
    assert error.mape_percent < mean
    assert error.median_percent < median


def test_rows_that_hide_a_limit_of_admission_are_listed_and_not_scored(answer: PredictedServing) -> None:
    limited = {one.row.name for one in answer.not_scored if one.reason.startswith("tpot: requests waited")}
    assert len(limited) > 50
    scored = {one.run.row.name for one in answer.predictions if "tpot" in one.error_percent}
    assert not limited & scored


def test_a_first_token_that_takes_long_is_scored(answer: PredictedServing) -> None:
    """Long prompts in closed loops: the wait is of the loop, and the law has it."""
    waited = [
        one.error_percent
        for one in answer.predictions
        if one.run.row.dataset == "nim180" and one.run.measured["ttft"] > 30
    ]
    assert len(waited) >= 8
    assert all("tpot" in errors and "ttft" in errors for errors in waited)


def test_rows_to_judge_by_are_read_and_predicted_but_not_fitted() -> None:
    judged = predict_served_runs(str(RUNS.with_name("serving_judged.csv")))
    assert len(judged.predictions) == 43
    assert all(one.error_percent for one in judged.predictions)
    fitted = {line.partition(",")[0] for line in RUNS.read_text().splitlines()}
    assert not fitted & {one.run.row.name for one in judged.predictions}


def test_most_rows_of_models_that_no_fit_has_seen_lie_in_their_band() -> None:
    """``held_percent``: of each model's rows, in the band of the others, all predicted by fits without them."""
    rows = packaged_rows("inference", "error_bands")
    assert len(rows) == 12
    for row in rows:
        assert 70 <= float(row["held_percent"]) <= 90, row
        assert 0 < float(row["low"]) < 1 < float(row["high"]), row


def test_json_has_errors_by_group_and_reasons(answer: PredictedServing) -> None:
    document = answer.to_json()
    assert {"mape", "median", "by"} <= set(document["tpot"])
    assert {"engine", "accelerator", "model_kind", "mode", "dataset"} <= set(document["tpot"]["by"])
    assert {"id", "dataset", "reason"} == set(document["not_scored"][0])
    runs = sum(one["runs"] for one in document["tpot"]["by"]["engine"].values())
    assert runs == document["tpot"]["runs"]


def test_missing_columns_are_empty_and_a_row_says_what_it_lacks(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "mode,model,accelerator,tp,isl,osl,concurrency,tpot_ms\n"
        "agg,llama3-8b,h100,1,1000,200,16,9\nagg,llama3-8b,h100,,1000,200,16,9\n"
    )
    found = predict_served_runs(str(table))
    assert np.isfinite(found.predictions[0].error_percent["tpot"])
    assert found.not_scored[0].reason == "tp: missing, so that nobody knows how the model is split"
