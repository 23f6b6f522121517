"""What binds, measured: twice as much of each resource; and servers that fail."""

from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Machine, ServingAnswer
from topoopt.inference.search.answer import RELIEFS, relieved
from topoopt.inference.search.closed_form import splits_of
from topoopt.inference.simulator.run import simulate_serving
from topoopt.inference.step.constants import ServedStack, shipped_constants
from topoopt.inference.step.law import table_of
from topoopt.inference.step.replica import replica
from topoopt.transformers import usual_system
from topoopt.workloads.transformer import find_transformer


@pytest.fixture(scope="module")
def small_service() -> ServingAnswer:
    asked: Any = {"accelerators": 2, "rate": 4, "duration": "25s", "mode": "prefill-first", "top": 1}
    return topoopt.serving("llama3-8b", **asked)


def test_what_binds_is_what_twice_as_much_of_raises_goodput_most(small_service: ServingAnswer) -> None:
    """Twice the goodput at most, of twice of one resource; more of it never hurts."""
    best = small_service.best
    gains = best.binding.gains
    assert set(gains) == {relief.what for relief in RELIEFS}
    assert all(0 <= gain <= 1.05 for gain in gains.values())
    most = max(gains, key=lambda what: gains[what])
    assert best.binding.what == most
    assert f"{gains[most]:.0%} more" in best.binding.words
    row = small_service.row(best)
    assert row["gain_memory_bandwidth"] == gains["memory bandwidth"]
    question = small_service.question
    machine = relieved(question, best.candidate, next(one for one in RELIEFS if one.what == most))
    few = question.demand
    there = simulate_serving(machine, few.at(best.goodput_per_s * (1 + 0.9 * gains[most])))
    assert there.attainment(question.objectives) >= question.objectives.share


def test_with_twice_of_all_a_step_takes_half_as_long() -> None:
    """Every second of a step is of one resource of those that are named."""
    machine = Machine(find_transformer("llama3-70b"), usual_system("h100"), 8, EngineSettings())
    (split,) = splits_of(machine, {"tensor": 4, "pipeline": 2}, 2048)
    stack = ServedStack(machine.model, find_accelerator("h100"), machine.settings, split=split.parallelism)
    law = shipped_constants(stack)
    one = replica(
        machine.model, find_accelerator("h100"), split.parallelism, machine.settings, machine.system
    )
    for relief in RELIEFS:
        law, one = relief.of(law), relief.of(one)
    half = table_of(one, law, split.parallelism)
    assert half.decode_s(64, 64_000) == pytest.approx(split.table.decode_s(64, 64_000) / 2)
    assert half.prefill_s(2048) == pytest.approx(split.table.prefill_s(2048) / 2)


def test_a_server_that_fails_takes_all_replicas_down_that_have_an_accelerator_on_it() -> None:
    """Two servers of two accelerators, a replica on each of these: the second one's are replicas 2 and 3."""
    asked: Any = {"accelerators": 4, "accelerators_per_server": 2, "rate": 8, "duration": "13s", "top": 1}
    given: Any = {"mode": "prefill-first", "decode": "4xtp1", "fabrics": ["full-mesh"]}
    cases: Any = ({}, {"server_failures": "1:4s:8s"}, {"replica_failures": "2:4s:8s,3:4s:8s,2:5s:6s"})
    whole, broken, both = (topoopt.serving("llama3-8b", **asked, **given, **more).best.run for more in cases)
    assert broken.ttft_s.tolist() == both.ttft_s.tolist()
    assert broken.ttft_s.mean() > whole.ttft_s.mean()
    with pytest.raises(InvalidInput, match="server_failures: server 2: there are servers 0 to 1"):
        topoopt.serving("llama3-8b", **asked, **given, server_failures="2:10s:20s")


def test_a_server_that_fails_carries_nothing_of_others_meanwhile() -> None:
    """On a ring of four servers caches from the first to the third wait for the second, which forwards them."""
    asked: Any = {"accelerators": 8, "accelerators_per_server": 2, "rate": 4, "duration": "30s", "isl": 4096}
    given: Any = {
        "prefill": "2xtp2",
        "decode": "2xtp2",
        "fabrics": ["torus"],
        "degree": 2,
        "whole_caches": True,
    }
    cases: Any = ({}, {"server_failures": "1:10s:20s"})
    whole, broken = (topoopt.serving("llama3-8b", **asked, **given, **down).best.run for down in cases)
    before, meanwhile = whole.arrival_s < 9, (whole.arrival_s > 10) & (whole.arrival_s < 19)
    assert broken.ttft_s[before].tolist() == whole.ttft_s[before].tolist()
    assert broken.fleet.outages
    assert broken.ttft_s[meanwhile].mean() > whole.ttft_s[meanwhile].mean()
