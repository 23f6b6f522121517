"""A service on several servers: what must hold of every fabric whatever the numbers, and mistakes."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import networks_of
from topoopt.inference import OnOneFabric, Parallelism, ServingAnswer, parse_pool
from topoopt.inference.network.latency import expected, largest_rate

FEW = ("topoopt", "ideal-switch", "torus")


@pytest.fixture(scope="module")
def slow() -> ServingAnswer:
    """Llama 3 70B on few and slow ports, where keys and values are felt."""
    return topoopt.serving(
        "llama3-70b", servers=4, degree=2, bandwidth="25Gbps", isl=8192, osl=512, rate=2.0, duration="50s",
        prefill="1xtp2pp8", decode="1xtp4pp4", fabrics=FEW,
    )  # fmt: skip


@pytest.fixture(scope="module")
def experts() -> ServingAnswer:
    return topoopt.serving(
        "deepseek-v3", servers=8, isl=4096, osl=512, prefill="1xdp32ep32", decode="1xdp32ep32",
        fabrics=["topoopt", "ideal-switch", "full-mesh"],
    )  # fmt: skip


def row_of(answer: ServingAnswer, name: str) -> OnOneFabric:
    row = answer.row_of(name)
    assert row is not None
    return row


def test_every_fabric_has_a_row_with_the_parts_of_its_first_token(slow: ServingAnswer) -> None:
    assert {row.fabric for row in slow.fabrics} | {name for name, _ in slow.skipped} == set(FEW)
    assert set(FEW) < set(networks_of("serving"))
    for row in slow.fabrics:
        one = row.served.on.expected
        parts = one.prompt_wait_s + one.prompt_s + one.kv_s + one.place_wait_s
        if np.isfinite(one.ttft_s):
            assert one.ttft_s == pytest.approx(parts)


def test_no_fabric_beats_a_network_that_takes_no_time(slow: ServingAnswer) -> None:
    free = max(one.goodput_per_s for one in slow.deployments)
    for row in slow.fabrics:
        assert row.served.worth.ttft_share >= -1e-9
        assert row.served.worth.tpot_share >= -1e-9
        assert row.served.on.reach.tax >= 1 - 1e-9
        assert row.evaluated.goodput_per_s <= free * 1.02


def test_the_rate_in_time_is_in_time_and_a_little_more_is_not(slow: ServingAnswer) -> None:
    row, goals = slow.fabrics[0].served, slow.question.objectives
    load = row.on.load
    rate, _ = largest_rate(row.served, row.laws, row.on.reach, load, goals.ttft_s, goals.tpot_s)
    assert rate == pytest.approx(row.on.largest_rate_per_s)

    def at(times: float) -> bool:
        one = expected(row.served, row.laws, row.on.reach, replace(load, requests_per_s=times * rate))
        return one.ttft_late_s <= goals.ttft_s and one.tpot_s <= goals.tpot_s

    assert at(1.0)
    assert not at(1.01)


def test_times_grow_with_the_rate(experts: ServingAnswer) -> None:
    row = experts.fabrics[0].served
    rates = np.linspace(0.1, row.on.largest_rate_per_s, 12)
    found = [
        expected(row.served, row.laws, row.on.reach, replace(row.on.load, requests_per_s=float(rate)))
        for rate in rates
    ]
    assert (np.diff([one.ttft_s for one in found]) >= -1e-12).all()
    assert (np.diff([one.tpot_s for one in found]) >= -1e-12).all()


def test_cables_chosen_for_the_deployment_answer_as_many_as_a_switch_for_less(experts: ServingAnswer) -> None:
    own, switch = (row_of(experts, name) for name in ("topoopt", "ideal-switch"))
    assert own.evaluated.goodput_per_s == pytest.approx(switch.evaluated.goodput_per_s, rel=0.03)
    assert own.served.cost_usd is not None
    assert switch.served.cost_usd is not None
    assert own.served.cost_usd < switch.served.cost_usd
    assert experts.winner is not None
    assert experts.winner.fabric != "ideal-switch"


def test_the_winner_meets_the_objectives_for_the_least_money(experts: ServingAnswer) -> None:
    document = json.loads(json.dumps(experts.to_json(), allow_nan=False))
    rows = {row["fabric"]: row for row in document["fabrics"]}
    meeting = [row for row in rows.values() if row["attainment"] >= 0.9]
    least = min(row["usd_per_million_tokens"] for row in meeting)
    assert rows[document["winner"]]["usd_per_million_tokens"] == least
    assert document["best"]["goodput_per_s"] == rows[document["winner"]]["goodput_per_s"]


def test_its_json_is_whole_and_its_page_says_the_winner(slow: ServingAnswer) -> None:
    document = json.loads(json.dumps(slow.to_json(), allow_nan=False))
    assert len(document["fabrics"]) == len(slow.fabrics)
    wanted = {
        "goodput_per_s",
        "ttft_p99_s",
        "tpot_p99_s",
        "binds",
        "bandwidth_tax",
        "kv_share_of_ttft",
        "pairing",
    }
    assert wanted | {"cost_usd", "usd_per_million_tokens", "hops_share_of_tpot"} <= set(
        document["fabrics"][0]
    )
    assert slow.winner is not None
    assert f"answer on {slow.winner.fabric}:" in str(slow)
    assert len(slow.to_frame()) == len(slow.fabrics)


def test_a_plan_of_it_is_its_cables(experts: ServingAnswer) -> None:
    plan = topoopt.serving_plan(experts)
    row = row_of(experts, "topoopt")
    assert plan.fabric.topology is row.served.on.fabric.topology
    moved = row.served.on.per_request.transfers.sum() * row.rate_per_s
    assert plan.traffic().mp_bytes == pytest.approx(moved, rel=1e-6)


def test_where_nothing_takes_long_it_says_that_the_network_hardly_matters() -> None:
    """And among the deployments of two pools one is chosen that is the best on every fabric."""
    answer = topoopt.serving(
        "llama3-8b", servers=2, fabrics=["topoopt", "ideal-switch"], rate=5.0, duration="20s",
        mode="disaggregated", top=1,
    )  # fmt: skip
    assert not answer.matters
    assert "hardly matters here" in " ".join(str(answer).split())


def test_requests_of_a_trace_are_simulated_on_fabrics() -> None:
    asked: dict[str, Any] = {
        "accelerators": 8,
        "accelerators_per_server": 4,
        "decode": "2xtp1",
        "prefill": "6xtp1",
    }
    answer = topoopt.serving(
        "llama3-8b", **asked, trace="examples/requests.csv", prefix_cache=True, fabrics=["topoopt"]
    )
    (row,) = answer.fabrics
    requests = row.evaluated.run.requests
    assert len(np.unique(requests.input_tokens)) > 50
    assert row.evaluated.run.hit_share > 0


def test_the_deployment_of_an_answer_is_taken_again() -> None:
    asked: dict[str, Any] = {"accelerators": 4, "rate": 20.0, "duration": "20s", "top": 1}
    first = topoopt.serving("llama3-8b", **asked, decode="tp1", prefill="tp2").to_json()
    again = topoopt.serving("llama3-8b", **asked, deployment=first["deployment"]).to_json()
    assert again["deployment"] == first["deployment"]
    assert again["best"] == first["best"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"slo_tpot": "1us"}, r"slo_tpot 1 µs: cannot be met at any batch"),
        ({"prefill": "4xtp8"}, r"prefill: say also who answers"),
        ({"decode": "4xtp8tp8", "prefill": "4xtp8"}, r"decode: each of tp, pp, ep and dp stands once"),
        ({"decode": "8"}, r"decode: expected how a replica is split"),
        ({"decode": "9xtp8"}, r"accelerators 64: the deployment that is given has 72"),
        ({"fabrics": ["moebius"]}, r'fabrics: unknown name "moebius"'),
        ({"pairing": "some"}, r'pairing: unknown name "some"'),
        ({"rate": -1.0}, r"rate: expected requests a second above 0"),
        ({"slo_ttft": "0s"}, r"slo_ttft: expected a time above 0"),
        ({"isl": 0}, r"isl: expected TOKENS"),
        ({"servers": 1, "fabrics": ["rail"]}, r"fabrics: the 8 accelerators are in one server"),
        ({"accelerators": 8}, r"servers: give accelerators or servers"),
        ({"transfer_bandwidth": "1Tbps"}, r"transfer_bandwidth: is of one server"),
        ({"deployment": {"decode": {"tensors": 8}}}, 'unknown key "tensors"; did you mean tensor'),
        ({"deployment": {"decode": {"tensor": 8}, "mode": "disaggregated"}}, r"mode disaggregated: a prefill pool"),
        ({"deployment": {"decode": {"tensor": 8}}, "decode": "tp8"}, r"decode: the deployment says it"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(words: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, Infeasible), match=message):
        topoopt.serving("llama3-70b", **{"servers": 8, **words})


def test_a_pool_is_written_as_it_is_read() -> None:
    assert parse_pool("2xtp2pp2ep4dp2", "decode") == (2, Parallelism(2, 2, 4, 2))
