"""How long the answers of a served model take where its sends take longer."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import topoopt
from topoopt.catalog import ClusterSpec
from topoopt.clusters.served_model import served_model
from topoopt.finder import FabricRequest, build_fabric
from topoopt.inference import Service, ServingStack, answer_times, service_on

CLUSTER = ClusterSpec(4, 2, 400e9, accelerators_per_server=8, accelerator="h100")
SPLIT = "tensor=1 attention_data=16 expert=16 weights=fp8"


@cache
def service(model: str, words: str) -> Service:
    served = served_model(model, words, CLUSTER, 0)
    groups = tuple(group.members for group in served.traffic.reduces)
    fabric = build_fabric("ideal-switch", FabricRequest(4, 2, 400e9, groups))
    return service_on(fabric, served.model, served.deployment, CLUSTER, served.load, stack=ServingStack())


def test_a_first_token_comes_later_by_what_its_cache_is_longer_under_way() -> None:
    chat = service("llama3-70b", "rate=2 isl=4000 osl=50 prefill_servers=2")
    (alone, tpot), (beside, same) = answer_times(chat, {0.01: 1}, 1.0), answer_times(chat, {0.02: 3}, 1.0)
    assert beside - alone == pytest.approx(np.full(len(alone), 0.01 / chat.laws.transfer.efficiency))
    assert (tpot == same).all()


def test_longer_prompts_have_the_longer_sends() -> None:
    chat = service("llama3-70b", "rate=0.01 isl=4000 osl=50 prefill_servers=2")
    ttft, _ = answer_times(chat, {0.01: 0.75, 0.03: 0.25}, 1.0)
    later = chat.laws.transfer
    # nobody waits, so that all but the sends is alike
    assert ttft.max() - ttft.min() == pytest.approx(0.02 / later.efficiency, rel=1e-6)
    assert (ttft > ttft.mean()).mean() == pytest.approx(0.25, abs=0.03)


def test_steps_wait_for_exchanges_of_experts_as_much_longer_as_these_take() -> None:
    chat = service("deepseek-v3", f"rate=0.5 isl=1000 osl=50 prefill_servers=2 {SPLIT}")
    tpot = [answer_times(chat, {0.01: 1}, slowness)[1].mean() for slowness in (1.0, 2.0, 3.0)]
    assert tpot[0] < tpot[1] < tpot[2]
    assert tpot[2] - tpot[1] == pytest.approx(tpot[1] - tpot[0], rel=0.1)


def test_more_requests_than_accelerators_answer_are_said() -> None:
    assert service("llama3-70b", "rate=200 isl=4000 osl=50 prefill_servers=2").overloaded
    assert not service("llama3-70b", "rate=1 isl=4000 osl=50 prefill_servers=2").overloaded


def test_training_beside_it_makes_its_answers_later_and_it_makes_iterations_longer(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "id,model,servers,arrival_s,iterations,duration_s,serving\n"
        "chat,llama3-8b,4,0,,600,rate=15 isl=8000 osl=100 prefill_servers=2 slo_ttft=500ms\n"
        "train,vgg16,4,0,20000,,\n"
    )
    result = topoopt.cluster.run(
        trace,
        servers=8,
        degree=2,
        bandwidth="100Gbps",
        accelerator="h100",
        accelerators_per_server=8,
        placement="strided",
        fabrics=["topoopt", "oversub-fat-tree"],
    )
    own, shared = result.fabrics
    for run in result.fabrics:
        (chat,), (train,) = run.served, run.trained
        assert chat.served is not None
        assert chat.served.answers is not None
        assert train.undisturbed_iteration_time_s is not None
        answers, slower = (
            chat.served.answers,
            train.iteration_time_s.mean / train.undisturbed_iteration_time_s,
        )
        assert answers.in_time is not None
        assert answers.in_time_alone is not None
        if run is own:
            assert answers.ttft_s == answers.ttft_alone_s
            assert slower == pytest.approx(1.0)
        else:
            assert answers.ttft_s.mean > answers.ttft_alone_s.mean
            assert answers.in_time <= answers.in_time_alone
            assert slower > 1.0
    assert shared.fabric == "oversub-fat-tree"
