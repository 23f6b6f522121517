"""Ownership at the doors: plans, comparisons and transformers priced with their servers and electricity."""

import json
from typing import Any

import pytest

import topoopt
from topoopt.pages.answer_page import page_of
from topoopt.pages.tables import dollars
from topoopt.plans import plan_from_mapping, plan_to_mapping

SMALL: Any = {"servers": 8, "degree": 2, "budget": 20, "baseline_budget": 10}
RUN: Any = {"samples": 1e9, "server_price": 100e3, "server_power": 4000.0, "years": 4, "utilization": 1.0}
FREE: Any = {"interest": 0, "colocation": 0, "maintenance": 0}


@pytest.fixture(scope="module")
def plan() -> topoopt.Plan:
    return topoopt.plan("dlrm", fabrics=("ideal-switch", "torus"), **SMALL, **RUN, **FREE)


def test_a_plan_says_what_an_hour_a_run_and_a_sample_cost(plan: topoopt.Plan) -> None:
    document = plan_to_mapping(plan)
    owned, machine = document["ownership"], document["cluster"]
    assert owned["servers_usd"] == 8 * 100e3
    assert owned["network_usd"] == document["cost_usd"]
    assert owned["total_usd"] == pytest.approx(8e5 + document["cost_usd"] + owned["electricity_usd"])
    hour_usd = owned["total_usd"] / (4 * 8760)
    assert owned["usd_per_hour"] == pytest.approx(hour_usd)
    batch = document["graph"]["batch_per_accelerator"] * 8 * machine["accelerators_per_server"]
    iterations = 1e9 / batch
    hours = iterations * document["iteration_time_s"] / 3600
    assert owned["usd_per_run"] == pytest.approx(hour_usd * hours)
    assert owned["usd_per_sample"] == pytest.approx(hour_usd * hours / 1e9)
    assert owned["usd_per_token"] is None


def test_every_baseline_is_beside_the_plan(plan: topoopt.Plan) -> None:
    document = plan_to_mapping(plan)
    own = document["ownership"]
    for row in document["baselines"]:
        owned = row["ownership"]
        saved = own["usd_per_run"] - owned["usd_per_run"]
        run_share = own["run_hours"] / (4 * 8760)  # of all that the plan trains
        assert owned["net_usd"] * run_share == pytest.approx(saved)
        assert owned["network_saved_usd"] == pytest.approx(
            4 * 8760 * (own["network_usd_per_hour"] - owned["network_usd_per_hour"])
        )
        assert owned["servers_lost_usd"] == pytest.approx((row["relative_time"] - 1) * owned["total_usd"])


def test_a_plan_file_keeps_the_terms(plan: topoopt.Plan) -> None:
    document = json.loads(json.dumps(plan_to_mapping(plan)))
    again = plan_from_mapping(document)
    assert again.terms == plan.terms
    assert plan_to_mapping(again) == document


def test_a_plan_from_before_there_were_terms_is_priced_by_the_usual_ones(plan: topoopt.Plan) -> None:
    document = json.loads(json.dumps(plan_to_mapping(plan)))
    for row in (document, *document["baselines"]):
        del row["ownership"]
    del document["terms"]
    old = plan_from_mapping(document)
    assert old.terms is None
    rows = topoopt.compare(old, fabrics=["torus"], baseline_budget=10).to_json()["fabrics"]
    assert rows[0]["ownership"]["utilization"] == 0.8


def test_a_comparison_takes_the_terms_of_the_plan_and_words_win(plan: topoopt.Plan) -> None:
    found = topoopt.compare(plan, fabrics=["torus"], baseline_budget=10, years=2)
    rows = found.to_json()["fabrics"]
    assert [row["ownership"]["years"] for row in rows] == [2, 2]
    assert rows[0]["ownership"]["servers_usd"] == 8 * 100e3
    assert rows[0]["ownership"]["usd_per_run"] > 0
    assert found.terms is not None
    assert found.terms.server == plan.terms.server if plan.terms else False


def test_the_cost_of_a_plan_is_per_run_where_its_iterations_are_known(plan: topoopt.Plan) -> None:
    rows = topoopt.cost(plan, fabrics=["topoopt", "torus", "rail"], **RUN).to_json()["fabrics"]
    by_name = {row["fabric"]: row["ownership"] for row in rows}
    assert by_name["topoopt"]["usd_per_run"] == pytest.approx(
        plan_to_mapping(plan)["ownership"]["usd_per_run"]
    )
    assert by_name["torus"]["net_usd"] is not None
    assert by_name["rail"]["usd_per_run"] is None  # nobody has simulated the job there
    assert by_name["rail"]["usd_per_hour"] > 0


def test_a_transformer_has_a_price_a_token() -> None:
    words: Any = {"accelerators": 64, "tp": 8, "server_price": "high", "tokens": 1e12, "utilization": 0.5}
    found = topoopt.llm.estimate("llama3-8b", **words)
    owned = found.to_json()["ownership"]
    assert owned["servers_usd"] == 8 * 350e3
    assert owned["usd_per_token"] == pytest.approx(owned["usd_per_hour"] / 3600 / found.tokens_per_s)
    assert owned["usd_per_run"] == pytest.approx(1e12 * owned["usd_per_token"])
    assert owned["run_hours"] == pytest.approx(1e12 / found.tokens_per_s / 3600)


def test_ranked_configurations_have_prices_a_token() -> None:
    found = topoopt.llm.search("llama3-8b", accelerators=64, top=5)
    rows = found.to_json()["configurations"]
    dollars = [row["usd_per_token"] for row in rows]
    assert dollars == sorted(dollars)
    assert found.to_json()["ownership"]["usd_per_token"] == dollars[0]


def test_one_server_needs_no_network() -> None:
    owned = topoopt.llm.estimate("llama3-8b", accelerators=8, tp=8).to_json()["ownership"]
    assert owned["network_usd"] == 0
    assert owned["usd_per_hour"] > 0


def test_tokens_of_a_model_without_them_are_refused_before_anything_is_searched() -> None:
    with pytest.raises(topoopt.InvalidInput, match="tokens: the model has samples and no tokens"):
        topoopt.plan("dlrm", servers=8, degree=2, tokens=1e9)


def test_an_hour_and_the_run_are_key_numbers_of_a_page(plan: topoopt.Plan) -> None:
    owned = plan_to_mapping(plan)["ownership"]
    for page in (page_of(plan), page_of(topoopt.compare(plan, fabrics=["torus"], baseline_budget=10))):
        tiles = {tile.name: tile.value for tile in page.tiles}
        assert tiles["An hour of training"] == dollars(owned["usd_per_hour"])
        assert tiles["The run"] == dollars(owned["usd_per_run"])


def test_the_page_of_a_plan_says_what_is_saved_beside_what_is_lost(plan: topoopt.Plan) -> None:
    shown = " ".join(str(plan).split())
    assert "Cost of ownership and training" in shown
    for heading in ("an hour", "the run", "1 G", "samples", "savings", "lost", "net"):
        assert heading in shown
