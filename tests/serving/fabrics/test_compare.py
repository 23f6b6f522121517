"""A served model on fabrics: what must hold whatever the numbers, the published orderings, and mistakes."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import topoopt
from topoopt.errors import Infeasible, InvalidInput
from topoopt.serving import (
    SERVING_FABRICS,
    Deployment,
    EngineSettings,
    Parallelism,
    ServingComparison,
    deployment_words,
    parse_pool,
    published_orderings,
)
from topoopt.serving.fabrics.deployments import contenders
from topoopt.serving.fabrics.splits import splits
from topoopt.serving.network.latency import expected, largest_rate
from topoopt.serving.network.load import RequestLoad
from topoopt.transformer import find_transformer

FEW = ("topoopt", "ideal-switch", "torus")


@pytest.fixture(scope="module")
def slow() -> ServingComparison:
    """Llama 3 70B on few and slow ports, where keys and values are felt."""
    return topoopt.serving_fabrics(
        "llama3-70b", servers=4, degree=2, bandwidth="25Gbps", rate=6.0, isl=8192, fabrics=FEW
    )


@pytest.fixture(scope="module")
def experts() -> ServingComparison:
    return topoopt.serving_fabrics("deepseek-v3", fabrics=["topoopt", "ideal-switch", "full-mesh"])


def test_every_fabric_has_a_row_with_the_parts_of_its_first_token(slow: ServingComparison) -> None:
    assert {row.name for row in slow.fabrics} | {name for name, _ in slow.skipped} == set(FEW)
    assert set(FEW) < set(SERVING_FABRICS)
    for row in slow.fabrics:
        one = row.on.expected
        if math.isfinite(one.ttft_s):
            parts = one.prompt_wait_s + one.prompt_s + one.kv_s + one.place_wait_s
            assert one.ttft_s == pytest.approx(parts)
            assert one.ttft_s >= one.prompt_s


def test_no_fabric_beats_the_bound_without_a_network(slow: ServingComparison) -> None:
    for row in slow.fabrics:
        assert row.worth.ttft_share >= -1e-9
        assert row.worth.tpot_share >= -1e-9
        assert row.on.reach.tax >= 1 - 1e-9


def test_the_rate_in_time_is_in_time_and_a_little_more_is_not(slow: ServingComparison) -> None:
    row, asked = slow.fabrics[0], slow.question
    rate, _ = largest_rate(row.served, row.laws, row.on.reach, asked.load, asked.ttft_s, asked.tpot_s)
    assert rate == pytest.approx(row.on.largest_rate_per_s)

    def at(times: float) -> bool:
        one = expected(row.served, row.laws, row.on.reach, replace(asked.load, requests_per_s=times * rate))
        return one.ttft_late_s <= asked.ttft_s and one.tpot_s <= asked.tpot_s

    assert at(1.0)
    assert not at(1.01)


def test_times_grow_with_the_rate(experts: ServingComparison) -> None:
    row = experts.fabrics[0]
    load = experts.question.load
    rates = np.linspace(0.1, row.on.largest_rate_per_s, 12)
    found = [
        expected(row.served, row.laws, row.on.reach, replace(load, requests_per_s=float(rate)))
        for rate in rates
    ]
    assert (np.diff([one.ttft_s for one in found]) >= -1e-12).all()
    assert (np.diff([one.tpot_s for one in found]) >= -1e-12).all()


def test_the_simulator_finds_tokens_as_fast_as_the_closed_form(experts: ServingComparison) -> None:
    for row in experts.fabrics:
        assert row.confirmed is not None
        assert row.confirmed.tpot_s == pytest.approx(row.on.expected.tpot_s, rel=0.1)
        assert row.confirmed.attainment > 0.85


def test_cables_chosen_for_the_deployment_win_by_money_for_experts(experts: ServingComparison) -> None:
    """arXiv 2605.00254 finds switchless fabrics ahead of scale-up switches for mixtures of experts."""
    assert experts.winner is not None
    assert experts.winner.name == "topoopt"
    own, switch = (experts.row(name) for name in ("topoopt", "ideal-switch"))
    assert own is not None
    assert switch is not None
    assert own.on.largest_rate_per_s == pytest.approx(switch.on.largest_rate_per_s, rel=0.02)
    assert own.network_usd is not None
    assert switch.network_usd is not None
    assert own.network_usd < switch.network_usd


def test_published_orderings_come_out_or_are_explained() -> None:
    """Network-aware routers gain on 64 accelerators and not on two servers (arXiv 2606.03910, llm-d-router #2315)."""
    found = {one.what: one for one in published_orderings()}
    switchless = [one for what, one in found.items() if what.startswith("tokens a dollar, topoopt")]
    assert switchless[0].ours > 0  # less than published, as its explanation says
    aware = {
        servers: found[f"mean first token, choosing decode by the network, {servers} servers"]
        for servers in (8, 2)
    }
    assert aware[8].ours < -10
    assert aware[2].ours == pytest.approx(0.0, abs=0.1)
    reads = found["tokens a second that a server of prefill reads, EP32"]
    assert 0.5 * reads.low <= reads.ours <= reads.high
    for one in found.values():
        assert one.low <= one.ours <= one.high or one.explanation


def test_its_json_is_whole_and_its_page_says_the_winner(slow: ServingComparison) -> None:
    document = json.loads(json.dumps(slow.to_json(), allow_nan=False))
    assert len(document["fabrics"]) == len(slow.fabrics)
    assert {"ttft_s", "tpot_s", "bandwidth_tax", "kv_share_of_ttft", "network_usd"} <= set(
        document["fabrics"][0]
    )
    page = str(slow)
    if slow.winner:
        assert f"{slow.winner.name} answers" in page
    assert len(slow.to_frame()) == len(slow.fabrics)


def test_a_plan_of_it_is_its_cables(experts: ServingComparison) -> None:
    plan = topoopt.serving_plan(experts)
    row = experts.row("topoopt")
    assert row is not None
    assert plan.fabric.topology is row.on.fabric.topology
    moved = row.on.per_request.transfers.sum() * row.on.load.requests_per_s
    assert plan.traffic().mp_bytes == pytest.approx(moved, rel=1e-6)


def test_where_nothing_takes_long_it_says_that_the_network_hardly_matters() -> None:
    answer = topoopt.serving_fabrics("llama3-8b", servers=2, fabrics=["topoopt", "ideal-switch"], rate=5.0)
    assert not answer.matters
    assert "hardly matters here" in str(answer)


def test_splits_divide_heads_and_experts() -> None:
    for model in map(find_transformer, ("llama3-70b", "deepseek-v3", "mixtral-8x7b")):
        found = list(splits(model, 32))
        assert len(set(found)) == len(found)
        for one in found:
            assert model.heads % one.tensor == 0
            assert one.accelerators <= 32
            assert one.attention_data == 1 or model.experts is not None
    assert Parallelism(1, 1, 32, 32) in splits(find_transformer("deepseek-v3"), 32)


def test_without_splits_there_are_no_contenders() -> None:
    assert contenders([], 8, EngineSettings(), 5)[0] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"slo_tpot": "1us"},
            r"no split answers even a single request in time; the best first token comes after",
        ),
        (
            {"weight_precision": "bf16", "servers": 2, "accelerators_per_server": 1},
            r"no split over 2 accelerators",
        ),
        ({"prefill": "4xtp8"}, r"prefill: say also who answers"),
        ({"decode": "4xtp8tp8", "prefill": "4xtp8"}, r"decode: each of tp, pp, ep and dp stands once"),
        ({"decode": "tp8"}, r"decode: expected replicas and how each is split, such as 4xtp8"),
        ({"decode": "9xtp8"}, r"servers: 72 accelerators of 8 a server lie on 9 servers"),
        ({"fabrics": ["moebius"]}, r'fabric: unknown name "moebius"'),
        ({"pairing": "some"}, r'pairing: unknown name "some"'),
        ({"rate": -1.0}, r"rate: expected requests a second above 0"),
        ({"slo_ttft": "0s"}, r"slo_ttft: expected a time above 0"),
        ({"isl": 0}, r"isl: expected an integer >= 1"),
    ],
)
def test_mistakes_are_one_line(words: dict[str, object], message: str) -> None:
    with pytest.raises((InvalidInput, Infeasible), match=message):
        topoopt.serving_fabrics("llama3-70b", **words)  # type: ignore[arg-type]


def test_a_rate_beyond_all_fabrics_names_the_largest() -> None:
    answer = topoopt.serving_fabrics("llama3-70b", servers=2, rate=1e5, fabrics=["topoopt", "ideal-switch"])
    assert answer.winner is None
    assert "No fabric answers 1e+05 requests/s" in str(answer)


def test_a_pool_is_written_as_it_is_read() -> None:
    pool = parse_pool("2xtp2pp2ep4dp2", "decode")
    assert pool.parallelism == Parallelism(2, 2, 4, 2)
    assert RequestLoad(1, 1, 1).requests_per_s == 1
    assert (
        deployment_words(Deployment("prefill-first", parse_pool("1xtp8", "decode")))
        == "1 x tp8, prefill-first"
    )
