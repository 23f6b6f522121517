"""Goodput and screening: what bisection finds, what closed forms promise, what no deployment beats, what binds."""

import numpy as np
import pytest

from tests.inference.tables import SMALL, constant_table, replicas
from topoopt.base.errors import Infeasible
from topoopt.inference import (
    Demand,
    EngineSettings,
    Limits,
    Machine,
    Objectives,
    Parallelism,
    draw_requests,
    parse_arrivals,
    parse_lengths,
)
from topoopt.inference.search.candidates import candidates
from topoopt.inference.search.closed_form import Split, alone_s, answering, splits_of
from topoopt.inference.search.goodput import EXACT, goodput, what_binds
from topoopt.inference.simulator.fleet import Fleet, uniform_transfer
from topoopt.inference.simulator.run import simulate_serving
from topoopt.transformers import usual_system
from topoopt.workloads.transformer import find_transformer


def demand(prompt: int = 256, answer: int = 64, count: int = 2000) -> Demand:
    lengths = parse_lengths(prompt, "isl"), parse_lengths(answer, "osl")
    return Demand(draw_requests(parse_arrivals("poisson"), count, 1.0, *lengths, 0), 1.0, "")


GOALS = Objectives(2.0, 0.1)


@pytest.mark.parametrize("mode", ["prefill-first", "chunked"])
def test_at_its_goodput_enough_requests_are_in_time_and_a_little_above_too_few(mode: str) -> None:
    fleet, asked = Fleet(mode, replicas(SMALL)), demand()
    best = goodput(lambda rate_per_s: fleet, asked, GOALS, 1.0)
    assert simulate_serving(fleet, asked.at(best)).attainment(GOALS) >= GOALS.share
    above = best * (1 + 2 * EXACT)
    assert simulate_serving(fleet, asked.at(above)).attainment(GOALS) < GOALS.share


def test_goodput_is_none_where_even_one_request_is_late() -> None:
    fleet = Fleet("chunked", replicas(constant_table(1.0)))
    assert goodput(lambda rate_per_s: fleet, demand(), GOALS, 1.0) == 0


@pytest.mark.parametrize("mode", ["prefill-first", "chunked"])
def test_closed_forms_promise_what_a_full_replica_does(mode: str) -> None:
    """Of a closed loop, whose batch is known: tokens a second within 5 %."""
    clients, asked = 32, demand(count=32 * 40)
    loop = draw_requests(
        parse_arrivals(f"closed:{clients}"), 32 * 40, 1.0, parse_lengths(256, "isl"),
        parse_lengths("uniform:32:96", "osl"), 0,
    )  # fmt: skip
    run = simulate_serving(Fleet(mode, replicas(SMALL)), loop)
    law = answering(Split(Parallelism(), SMALL, 10**9), asked, EngineSettings(), mode, 4096)
    rate = np.interp(clients, law.batch, law.rate_per_s)
    assert len(loop) / run.end_s == pytest.approx(rate, rel=0.05)


def test_a_prompt_alone_takes_what_the_simulator_says() -> None:
    one = replicas(SMALL)
    for mode, apart in (("chunked", False), ("disaggregated", True)):
        other = one if apart else None
        way = uniform_transfer(2, 0.0, 1e30, 0.0) if apart else None
        asked = demand(512, 2, 100)
        run = simulate_serving(Fleet(mode, one, other, transfer=way), asked.at(1e-3))
        assert run.ttft_s.mean() == pytest.approx(alone_s(SMALL, 512, apart))


def test_every_deployment_has_as_many_accelerators_as_there_are_at_most() -> None:
    machine = Machine(find_transformer("llama3-70b"), usual_system("h100"), 24, EngineSettings())
    asked = demand(1024, 256)
    splits = splits_of(machine, {}, 2048)
    found = candidates(splits, splits, asked, GOALS, machine.settings, Limits(24))
    assert found
    for one in found:
        prefill = one.deployment.prefill.accelerators if one.deployment.prefill else 0
        assert prefill + one.deployment.decode.accelerators == one.deployment.accelerators <= 24
        assert one.tpot_s <= GOALS.tpot_s
    assert [one.rate_per_s for one in found] == sorted((one.rate_per_s for one in found), reverse=True)


def test_a_model_that_fits_nowhere_is_refused() -> None:
    machine = Machine(find_transformer("llama3-405b"), usual_system("h100"), 2, EngineSettings())
    with pytest.raises(Infeasible, match="leave no room for keys and values"):
        splits_of(machine, {}, 2048)


def test_what_binds_is_named() -> None:
    asked = demand(512, 64, 400)
    full = simulate_serving(Fleet("chunked", replicas(SMALL, pages=160)), asked.at(8.0))
    assert what_binds(full, Objectives(0.5, 10.0)).what == "KV capacity"
    places = simulate_serving(Fleet("chunked", replicas(SMALL, batch=2)), asked.at(8.0))
    assert what_binds(places, Objectives(0.5, 10.0)).what == "queue"
    one = replicas(SMALL)
    slow = uniform_transfer(2, 0.0, 1e6, 1e4)
    sent = simulate_serving(Fleet("disaggregated", one, one, transfer=slow), asked.at(0.1))
    assert what_binds(sent, Objectives(0.5, 10.0)).what == "network"
