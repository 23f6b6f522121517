"""What software sums up one by one or whole is in the traffic as it is in the times."""

from dataclasses import replace

import pytest

from tests.transformers.shapes import small_model
from topoopt.transformers import (
    Configuration,
    System,
    communications,
    configuration_table,
    estimate,
    find_calibration,
    make_pipelined_step,
)
from topoopt.transformers.communication.message import Communication
from topoopt.transformers.pipeline_chunks import hidden_shares
from topoopt.workloads.transformer import find_transformer

ONE = Configuration(tp=4, pp=2, dp=4, global_batch=16, sequence=64, zero=1)
BATCHES, LAYERS, HIDDEN_BYTES = 4, 8, 2 * 64 * 64


def sent(unfused: str, kind: str, one: Configuration = ONE) -> list[Communication]:
    return [each for each in communications(small_model(), one, unfused=unfused) if each.kind == kind]


def tensor_bytes(unfused: str, one: Configuration = ONE) -> int:
    """Return the bytes of AllReduces of activations of a rank of either stage, together."""
    return sum(
        each.message_bytes * each.count
        for each in sent(unfused, "tp", one)
        if each.message_bytes >= HIDDEN_BYTES and each.collective == "allreduce" and each.chunk >= 0
    )


@pytest.mark.parametrize(
    ("unfused", "more"), [("queries", 2), ("gate", 1), ("queries+gate", 3), ("norms", 0)]
)
def test_matrices_beside_each_other_sum_up_their_inputs_gradients_alone(unfused: str, more: int) -> None:
    """Two for three matrices, one for two, of each layer; with sequence parallelism all of them have one gather."""
    assert tensor_bytes(unfused) - tensor_bytes("none") == more * LAYERS * BATCHES * HIDDEN_BYTES
    split = replace(ONE, sequence_parallel=True)
    assert tensor_bytes(unfused, split) == tensor_bytes("none", split)


def test_all_logits_are_gathered() -> None:
    [whole] = [each for each in sent("logits", "tp") if each.part == "all logits"]
    assert (whole.message_bytes, whole.count, whole.direction) == (2 * 64 * 1024, BATCHES, "forward")
    assert not [each for each in sent("logits", "tp") if each.part == "loss"]


def test_a_step_reduces_whole_gradients_with_zero_1() -> None:
    """In 32 bits, and weights of 16 are gathered: 10 bytes a parameter on the wire for 6, as in the times."""
    usual, apart = (sum(each.wire_bytes for each in sent(word, "dp")) for word in ("none", "step"))
    assert apart / usual == pytest.approx(10 / 6)
    second = [
        [(each.collective, each.message_bytes) for each in sent(word, "dp", replace(ONE, zero=2))]
        for word in ("none", "step")
    ]
    assert second[0] == second[1]
    model, system = find_transformer("llama2-7b"), System("h100", 8, 3.6e12, 400e9)
    law, many = find_calibration("h100"), replace(ONE, micro_batch=1)
    shares = [hidden_shares(model, many, system, law.with_unfused(word))["once"] for word in ("none", "step")]
    assert shares[0] > 0.1
    assert shares[1] == 0


def test_tensor_parallel_waits_grow_alike() -> None:
    """Long messages, so that starts and the loss do not count: the ratio of times is the ratio of bytes."""
    model, system = find_transformer("llama2-7b"), System("a100-80gb", 8, 2.4e12, 200e9)
    one = Configuration(tp=8, pp=1, dp=8, global_batch=64, sequence=4096, micro_batch=8)
    ratios = []
    laws = [replace(find_calibration("a100-80gb"), unfused=word) for word in ("none", "queries+gate")]
    waits = [float(estimate(model, configuration_table([one]), system, law).tp_s[0]) for law in laws]
    for law in laws:
        found = communications(model, one, unfused=law.unfused)
        ratios.append(sum(each.wire_bytes for each in found if each.kind == "tp"))
    assert waits[1] / waits[0] == pytest.approx(ratios[1] / ratios[0], rel=0.02)


def test_steps_of_the_simulators_reduce_them_whole() -> None:
    model, system = small_model(), System("h100", 4, 3.6e12, 400e9)
    steps = [
        make_pipelined_step(model, ONE, system, replace(find_calibration("h100"), unfused=word))
        for word in ("none", "step")
    ]
    kinds = [
        {each.collective for each in step.synchronizations if len(each.members) > 1 and each.size_bytes}
        for step in steps
    ]
    assert kinds == [{"reduce-scatter"}, {"allreduce"}]
    gathered = [sum(each.gather_bytes for each in step.synchronizations) for step in steps]
    assert gathered[0] == gathered[1] > 0
