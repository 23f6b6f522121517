"""What software does whole or one by one: sums of inputs' gradients, steps, losses, and what stages send."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, System, configuration_table, estimate, find_calibration
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.closed_form import StepTimes
from topoopt.transformers.step_time.layer_time import layer_kernels
from topoopt.transformers.step_time.micro_batch import micro_batch
from topoopt.workloads.transformer import count_parameters, find_transformer

MODEL = find_transformer("llama2-7b")
SYSTEM = System("a100-80gb", 8, 2.4e12, 200e9)
LAW = replace(
    find_calibration("a100-80gb"), attention="fused", tensor_overlap=0.5, gradient_overlap=0.0, straggling=0.0
)
ONE = Configuration(tp=8, pp=1, dp=8, global_batch=8, sequence=4096)
SPLIT = replace(ONE, sequence_parallel=True)


def case(apart: str, one: Configuration = ONE) -> Case:
    return case_of(MODEL, configuration_table([one]), SYSTEM, replace(LAW, unfused=apart))


def times(apart: str, one: Configuration = ONE) -> StepTimes:
    return estimate(MODEL, configuration_table([one]), SYSTEM, replace(LAW, unfused=apart))


def test_each_matrix_sums_up_the_gradient_of_its_input() -> None:
    """Two AllReduces forward and two backward; three matrices for one are two more, two for one are one more."""
    usual, three, two = (float(micro_batch(case(word)).tp_s[0]) for word in ("none", "queries", "gate"))
    assert [three / usual, two / usual] == pytest.approx([6 / 4, 5 / 4])
    back = [float(micro_batch(case(word)).backward_share[0]) for word in ("none", "queries+gate")]
    assert back == pytest.approx([2 / 4, 5 / 7])


def test_with_sequence_parallelism_they_share_one_gather() -> None:
    usual, apart = (float(micro_batch(case(word, SPLIT)).tp_s[0]) for word in ("none", "queries+gate"))
    assert usual == apart


def test_sums_in_one_piece_hide_behind_nothing() -> None:
    hidden, bare = (float(micro_batch(case(word, SPLIT)).tp_s[0]) for word in ("none", "sums"))
    assert hidden == pytest.approx(bare / 2)


def test_narrower_products_lose_more() -> None:
    usual, apart = (float(layer_kernels(case(word)).forward_s[0]) for word in ("none", "queries+gate"))
    assert 1 < apart / usual < 1.2


def test_a_step_reduces_whole_gradients() -> None:
    """In 32 bits twice what is scattered, then weights in 16 bits are gathered: 10 bytes a parameter instead of 6."""
    one = replace(ONE, tp=1, dp=64, global_batch=64, zero=1)
    usual, apart = (times(word, one) for word in ("none", "step"))
    assert apart.dp_s[0] / usual.dp_s[0] == pytest.approx(10 / 6, rel=0.01)
    copied_s = 24 * count_parameters(MODEL).total / (2.039e12 * LAW.memory_efficiency)
    assert apart.compute_s[0] - usual.compute_s[0] == pytest.approx(copied_s, rel=0.05)
    third = [times(word, replace(one, zero=3)).iteration_time_s[0] for word in ("none", "step")]
    assert third[0] == third[1]  # shards are there already


def test_the_loss_of_all_logits_is_on_every_rank() -> None:
    """24 bytes for each of a rank's logits, 40 operation by operation, and 48 for each of all that are gathered."""
    usual, apart, whole = (layer_kernels(case(word)) for word in ("none", "loss", "loss+logits"))
    logits = 4096 * MODEL.vocabulary / 8
    rate = 2.039e12 * LAW.memory_efficiency
    for more, bytes_of_one in ((apart, 40), (whole, 8 * 48)):
        longer_s = more.logits_forward_s - usual.logits_forward_s
        assert float(longer_s[0]) == pytest.approx(logits * (bytes_of_one - 24) / 2 / rate, rel=0.01)
    long = replace(ONE, micro_batch=512, global_batch=4096)  # so that starts of collectives do not count
    waits = [float(micro_batch(case(word, long)).logits_tp_s[0]) for word in ("none", "logits")]
    assert waits[1] / waits[0] == pytest.approx(1 + MODEL.vocabulary / MODEL.hidden / 2, rel=0.05)


def test_stages_that_send_everything_send_as_often_as_there_are_ranks() -> None:
    """Without sequence parallelism each rank has all activations; with it, it has its slice anyway."""
    staged = replace(ONE, pp=2, dp=4)
    usual, apart = (float(times(word, staged).pp_s[0]) for word in ("none", "sends"))
    assert 4 < apart / usual < 8  # but for the start of a transfer
    split = [
        float(times(word, replace(staged, sequence_parallel=True)).pp_s[0]) for word in ("none", "sends")
    ]
    assert split[0] == split[1]
