"""A point is what the other verbs say of the same settings, and depends on its own settings alone."""

from dataclasses import replace

import pytest

from tests.studies.sweep.conftest import MakeSweep
from topoopt.catalog import ClusterSpec, sizings_of
from topoopt.collectives import QUICKEST
from topoopt.jobs import AUTO_BUCKET, JobSettings, make_job
from topoopt.pricing import bill_of_materials, find_accounting, find_prices, pricing_of
from topoopt.search import SearchOptions, compare_fabrics, compare_job, make_plan, starting_strategy
from topoopt.studies.sweep import Answer, Sweep, Task, solve
from topoopt.studies.sweep import compute as made
from topoopt.workloads import load_model

TEXT = "models: dlrm\nservers: 8\ndegree: 2\nbudget: 40\nchains: 1\nrounds: 2\n"
OPTIONS = SearchOptions(budget=40, chains=1, rounds=2)


def answers(sweep: Sweep) -> dict[str, Answer]:
    return {answer.point.fabric: answer for answer in solve(Task(sweep.points, sweep.folder))}


def test_points_are_what_plan_and_compare_say(sweep: MakeSweep) -> None:
    asked = JobSettings(bucket_bytes=AUTO_BUCKET, collective=QUICKEST)
    job = make_job(load_model("dlrm", servers=8), ClusterSpec(8, 2, 100e9), asked)
    plan = make_plan(job, OPTIONS, fabrics=("expander", "torus"))
    prices = pricing_of()
    found = answers(sweep(f"{TEXT}fabrics: [topoopt, torus, fat-tree-priced]\n"))
    own = found["topoopt"].values
    assert own["iteration_time_s"] == plan.outcome.iteration_time_s
    assert (own["gap"], own["plan_strides"]) == (plan.gap, list(plan.strides))
    assert own["cost_usd"] == plan.price["cost_usd"]
    torus = compare_fabrics(plan, OPTIONS, prices, fabrics=("torus",)).fabrics[1]
    assert found["torus"].values["iteration_time_s"] == torus.outcome.iteration_time_s
    assert found["torus"].values["cost_usd"] == torus.cost_usd
    starts = starting_strategy(job), plan.strategy
    bought = compare_job(plan.job, OPTIONS, sizings_of(("fat-tree",)), prices, starts).rows[1]
    assert found["fat-tree-priced"].values["server_bandwidth_bps"] == bought.server_bandwidth_bps


def test_a_point_does_not_depend_on_the_others_of_its_task(sweep: MakeSweep) -> None:
    together = answers(sweep(f"{TEXT}fabrics: [topoopt, ideal-switch, torus]\n"))
    alone = answers(sweep(f"{TEXT}fabrics: torus\n"))
    assert replace(alone["torus"], cpu_s=0) == replace(together["torus"], cpu_s=0)


@pytest.mark.parametrize(
    "text",
    [
        "models: [dlrm, vgg16]\nservers: 9\ndegree: [2, 4]\nbudget: 20\n",
        "models: llama3-8b\nservers: 4\ndegree: [2, 3]\nbandwidth: 400 Gbps\n",
    ],
)
def test_no_wiring_of_the_same_ports_is_faster_than_topoopt(sweep: MakeSweep, text: str) -> None:
    """As of a plan, which is a torus where that is the fastest that its ports can be."""
    made = sweep(f"{text}fabrics: [topoopt, torus, expander]\n")
    times_s: dict[tuple[str, int], dict[str, float]] = {}
    for answer in solve(Task(made.points, made.folder)):
        point = answer.point
        times_s.setdefault((point.model, point.degree), {})[point.fabric] = answer.values["iteration_time_s"]
    for row in times_s.values():
        assert row["topoopt"] <= (1 + 1e-6) * min(row["torus"], row["expander"])


def test_accounting_and_prices_change_the_price_alone(sweep: MakeSweep) -> None:
    made = sweep(f"{TEXT}accounting: [complete, no-look-ahead]\nprices: [2022, 2025]\n")
    found = list(solve(Task(made.points, made.folder)))
    assert len({answer.values["iteration_time_s"] for answer in found}) == 1
    for answer in found:
        point = answer.point
        accounting = find_accounting(point.accounting)
        bill = bill_of_materials("topoopt", 8, 2, 100e9, find_prices(point.prices), accounting)
        assert (answer.values["cost_usd"], answer.values["power_w"]) == (bill.cost_usd, bill.power_w)


def test_other_simulators_share_the_plan(sweep: MakeSweep) -> None:
    made = sweep(f"{TEXT}simulator: [analytic, flow]\nfabrics: [topoopt, ideal-switch]\n")
    found = {(a.point.fabric, a.point.simulator): a.values for a in solve(Task(made.points, made.folder))}
    for fabric in ("topoopt", "ideal-switch"):
        slow, quick = found[fabric, "flow"], found[fabric, "analytic"]
        assert (slow["simulated_by"], quick["simulated_by"]) == ("flow", "analytic")
        assert slow["iteration_time_s"] == pytest.approx(quick["iteration_time_s"], rel=0.2)


def test_points_may_be_simulated_packet_by_packet(sweep: MakeSweep) -> None:
    text = "models: vgg16\nservers: 4\ndegree: 2\nbudget: 0\nfabrics: [topoopt, ideal-switch]\n"
    made = sweep(f"{text}batch_per_accelerator: 1\nsimulator: [analytic, packet]\n")
    found = {(a.point.fabric, a.point.simulator): a for a in solve(Task(made.points, made.folder))}
    assert {answer.status for answer in found.values()} == {"ok"}
    for fabric in ("topoopt", "ideal-switch"):
        slow, quick = found[fabric, "packet"].values, found[fabric, "analytic"].values
        assert slow["simulated_by"] == "packet"
        assert slow["compute_time_s"] == pytest.approx(quick["compute_time_s"])
        assert slow["iteration_time_s"] == pytest.approx(quick["iteration_time_s"], rel=0.2)
        assert slow["iteration_time_s"] != quick["iteration_time_s"]


def test_what_cannot_be_is_an_answer_with_a_reason(sweep: MakeSweep) -> None:
    (answer,) = solve(Task(sweep("models: dlrm\nservers: 8\ndegree: 2\nprecision: fp8\nbudget: 0\n").points))
    assert (answer.status, answer.values) == ("infeasible", {})
    assert "fp8" in answer.error


def test_what_breaks_is_an_answer_that_says_where(sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object, **more: object) -> object:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(made, "make_plan", broken)
    (answer,) = solve(Task(sweep(TEXT).points))
    assert answer.status == "failed"
    assert answer.error.startswith("ZeroDivisionError: of ours (test_compute.py:")


def test_one_port_a_server_wires_nothing_and_leads_into_a_switch(sweep: MakeSweep) -> None:
    """Duplex links of one port join servers in pairs; a switch of one port a server is what many buy."""
    for model in ("vgg16", "llama3-8b"):
        text = (
            f"models: {model}\nservers: 4\ndegree: 1\nbandwidth: 400 Gbps\nfabrics: [topoopt, ideal-switch]\n"
        )
        found = answers(sweep(text))
        assert (found["topoopt"].status, found["ideal-switch"].status) == ("infeasible", "ok")
        assert "use 2 or more" in found["topoopt"].error
