"""``topoopt.serving``: deployments within objectives; what cannot be is said with what can."""

import json
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import TopoOptError
from topoopt.catalog import find_accelerator

ASKED: dict[str, Any] = {
    "accelerators": 4,
    "rate": 10,
    "duration": "30s",
    "isl": "512",
    "osl": "64",
    "top": 1,
}


def test_the_best_deployment_meets_its_objectives_at_its_goodput() -> None:
    found = topoopt.serving("llama3-8b", **ASKED, slo_ttft="1s", slo_tpot="50ms")
    row = found.row(found.best)
    assert found.meets
    assert {one.candidate.deployment.mode for one in found.deployments} == {
        "prefill-first",
        "chunked",
        "disaggregated",
    }
    assert 10 < row["goodput_per_s"] <= row["stable_per_s"]
    assert row["ttft_p90_s"] <= 1
    assert row["tpot_p90_s"] <= 0.05
    assert row["ttft_p50_s"] <= row["ttft_p90_s"] <= row["ttft_p99_s"]
    cost = found.question.owned
    assert cost is not None
    assert cost.usd_per_hour is not None
    each = cost.usd_per_hour / 3600 / (row["goodput_per_s"] * 64) * 1e6
    assert row["usd_per_million_tokens_at_goodput"] == pytest.approx(each)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["deployments"][0]["goodput_per_s"] == row["goodput_per_s"]
    assert len(found.to_frame()) == 3


def test_a_row_has_intervals_memory_and_one_number_of_tokens() -> None:
    found = topoopt.serving("llama3-8b", **{**ASKED, "mode": "chunked"})
    row = found.row(found.best)
    for name, unit in (("ttft_p50", "_s"), ("tpot_p50", "_s")):
        assert row[f"{name}_low{unit}"] < row[f"{name}{unit}"] < row[f"{name}_high{unit}"]
    assert row["stable_low_per_s"] < row["stable_per_s"] < row["stable_high_per_s"]
    assert row["accelerator_tokens_per_s_at_goodput"] == pytest.approx(
        row["goodput_per_s"] * 64 / 4, rel=0.02
    )
    parts = [row[f"memory_{name}_bytes"] for name in ("weights", "reserve", "kv")]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(find_accelerator(found.accelerator).usable_memory_bytes)
    assert "80% of measured runs" in str(found)


def test_a_duration_without_a_rate_is_refused() -> None:
    with pytest.raises(TopoOptError, match="duration: has no effect without rate"):
        topoopt.serving("llama3-8b", accelerators=4, duration="30s")


@pytest.mark.parametrize("words", [{"isl": 5}, {"osl": "9"}, {"duration": "1min"}, {"arrivals": "poisson"}])
def test_what_a_trace_says_is_not_said_again(words: dict[str, Any]) -> None:
    with pytest.raises(TopoOptError, match=f"{next(iter(words))}: the requests of a trace are what they are"):
        topoopt.serving("llama3-8b", accelerators=4, trace="examples/requests.csv", **words)


def test_columns_are_for_a_trace() -> None:
    with pytest.raises(TopoOptError, match="columns: says how a trace is read; give the trace, too"):
        topoopt.serving("llama3-8b", accelerators=4, columns="azure")


def test_prefill_and_decode_are_all_accelerators() -> None:
    found = topoopt.serving("llama3-8b", **ASKED, prefill_accelerators=1, decode="tp1", prefill="tp1")
    deployment = found.best.candidate.deployment
    assert deployment.prefill is not None
    assert (deployment.prefill.accelerators, deployment.decode.accelerators) == (1, 3)


def test_a_seed_gives_the_same_answer() -> None:
    asked = {**ASKED, "mode": "chunked", "seed": 4}
    first, second = (topoopt.serving("llama3-8b", **asked).to_json() for _ in range(2))
    assert first == second


def test_objectives_of_mlperf_are_known() -> None:
    found = topoopt.serving("llama3-8b", **ASKED, mode="chunked", slo_preset="llama2-70b-interactive")
    goals = found.question.objectives
    assert (goals.ttft_s, goals.tpot_s, goals.share) == (0.45, 0.04, 0.99)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"slo_ttft": "1ms"}, "slo_ttft 1 ms: cannot be met at any batch; the best that can be reached is"),
        ({"slo_tpot": "10us"}, "slo_tpot 10 µs: cannot be met at any batch; the best that can be reached is"),
        ({"rate": 10_000, "duration": "1s"}, "the largest that is stable is"),
        (
            {"rate": 1, "duration": "5s"},
            "duration 5 s: only 5 requests come, too few to say a share of; take 100 s",
        ),
        ({"accelerators": 1, "isl": "3000000"}, "hold no request of 3,000,064"),
        ({"router": "nearest"}, 'router: unknown name "nearest"'),
        (
            {"mode": "chunked", "decode": "tp1", "prefill": "tp2"},
            "prefill: is for mode disaggregated, got chunked",
        ),
        ({"accepted_tokens": 3.0}, "accepted_tokens: expected a number from 1 to 1, got 3"),
        ({"tokens": 1e9}, "tokens: is the size of a training; a service has a rate"),
        ({"replica_failures": "0-5"}, "replica_failures: expected REPLICA:FROM:TO"),
        ({"autoscale": "often"}, "autoscale: expected EVERY:TURN:TOKENS"),
        ({"accelerators": 131_048}, "into which these do not divide; nearest: 130048, 131072"),
        ({"accelerators": 4096, "server_failures": "0:1s:2s"}, "of 4 equal cells only one would be hit"),
        ({"accelerators": 4096, "decode": "5xtp1"}, "decode: replicas 5: 4 equal cells cannot share it"),
        ({"seed": -1}, "seed: expected an integer >= 0, got -1"),
        (
            {"mode": "disaggregated", "autoscale": "1us:0s:0"},
            "autoscale: expected a look every 0.1 s or more seldom",
        ),
        ({"slo_preset": "mlperf"}, 'slo_preset: unknown name "mlperf"'),
    ],
)
def test_what_cannot_be_is_one_line(words: dict[str, Any], message: str) -> None:
    with pytest.raises(TopoOptError) as error:
        topoopt.serving("llama3-8b", **{**ASKED, **words})
    assert message in str(error.value)


def test_a_model_that_does_not_fit_is_one_line() -> None:
    with pytest.raises(TopoOptError, match="leave no room for keys and values"):
        topoopt.serving("llama3-405b", **ASKED)


def test_equal_cells_are_one_of_them_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_ACCELERATORS", "LARGEST_CELL"):
        monkeypatch.setattr(f"topoopt.frontends.verbs.serving_cells.{limit}", 8)
    words = {**ASKED, "mode": "chunked", "decode": "tp4", "top": 1}
    one = topoopt.serving("llama3-8b", **{**words, "accelerators": 8, "rate": 4}).to_json()
    two = topoopt.serving("llama3-8b", **{**words, "accelerators": 16, "rate": 8}).to_json()
    assert (two["cells"], two["rate_per_s"], two["usd_per_hour"]) == (2, 8.0, 2 * one["usd_per_hour"])
    for name, value in one["best"].items():
        same = name not in ("deployment", "accelerators", "output_tokens_per_s") and "_per_s" not in name
        if same or name.startswith(("accelerator_", "user_", "goodput_per_accelerator")):
            assert two["best"][name] == value, name
    summed = ("accelerators", "goodput_per_s", "stable_per_s", "output_tokens_per_s")
    assert [two["best"][name] for name in summed] == [2 * one["best"][name] for name in summed]
    assert two["deployment"]["decode"]["replicas"] == 4


def test_answers_of_one_token_have_no_time_between_tokens() -> None:
    row = topoopt.serving("llama3-8b", **{**ASKED, "osl": "1", "mode": "chunked"}).to_json()["deployments"][0]
    assert row["tpot_p50_s"] is None
    assert row["goodput_per_s"] > 10
