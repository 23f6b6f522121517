"""Who holds which part of the weights, and what is brought over: shards that are intersected, and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.inference import Parallelism
from topoopt.reinforcement.shards import (
    in_place_bytes,
    missing_bytes,
    nested_shards,
    point_to_point,
    rollout_shards,
    training_shards,
)
from topoopt.transformers import Configuration

POWERS = st.sampled_from([1, 2, 4, 8])


def configuration(tp: int, pp: int, dp: int, ep: int = 1) -> Configuration:
    return Configuration(tp=tp, pp=pp, dp=dp, ep=ep, global_batch=dp, sequence=8)


@given(tp=POWERS, pp=POWERS, dp=st.sampled_from([1, 2, 3]), tensor=POWERS, stages=POWERS)
def test_in_place_an_accelerator_gets_what_the_published_formula_says(
    tp: int, pp: int, dp: int, tensor: int, stages: int
) -> None:
    tensor, stages = min(tensor, tp), min(stages, pp)
    training = training_shards(configuration(tp, pp, dp))
    nested = nested_shards(training, stages, tensor)
    assert nested is not None
    lacking = missing_bytes(training, nested, 16e9)
    assert lacking == pytest.approx(np.full(tp * pp * dp, in_place_bytes(tp * pp, stages * tensor, 16e9)))


@given(tp=POWERS, pp=POWERS, tensor=POWERS)
def test_neighbors_that_do_not_nest_lack_no_less(tp: int, pp: int, tensor: int) -> None:
    training = training_shards(configuration(tp, pp, 8))
    plain = rollout_shards(Parallelism(tensor), 8 * tp * pp // tensor)
    lacking = missing_bytes(training, plain, 1.0)
    assert lacking.max() <= 1 / tensor
    if tp * pp % tensor == 0 and tp % tensor == 0:
        assert lacking.max() >= in_place_bytes(tp * pp, tensor, 1.0) - 1e-12


@given(tp=POWERS, pp=POWERS, dp=POWERS, tensor=POWERS, replicas=st.integers(1, 4))
def test_into_each_replica_of_another_pool_go_all_weights_once(
    tp: int, pp: int, dp: int, tensor: int, replicas: int
) -> None:
    training = training_shards(configuration(tp, pp, dp))
    answering = rollout_shards(Parallelism(tensor), replicas)
    here = np.arange(training.accelerators)
    there = training.accelerators + np.arange(replicas * tensor) // tensor
    matrix = point_to_point(
        training, answering, 5.0, here, there, training.accelerators + replicas, once_a_server=False
    )
    assert matrix[:, training.accelerators :].sum(axis=0) == pytest.approx(np.full(replicas, 5.0))
    assert matrix[:, : training.accelerators].sum() == 0


def test_a_server_of_several_replicas_gets_all_weights_once() -> None:
    training = training_shards(configuration(4, 2, 1))
    answering = rollout_shards(Parallelism(2), 4)
    here, there = np.zeros(8, np.int64), np.ones(8, np.int64)
    assert point_to_point(training, answering, 7.0, here, there, 2)[0, 1] == pytest.approx(7.0)


def test_what_a_server_holds_already_stays_in_it() -> None:
    training = training_shards(configuration(8, 1, 2))
    answering = rollout_shards(Parallelism(4), 4)
    servers = np.arange(16) // 8
    matrix = point_to_point(training, answering, 3.0, servers, servers, 2)
    np.fill_diagonal(matrix, 0.0)
    assert matrix.sum() == 0


def test_experts_are_cut_by_their_own_degrees() -> None:
    training = training_shards(configuration(1, 2, 4, ep=4), of_experts=True)
    assert (training.stages, training.slices, training.copies) == (2, 4, 1)
    answering = rollout_shards(Parallelism(tensor=2, attention_data=2, expert=4), 2, of_experts=True)
    assert (answering.slices, answering.copies) == (4, 2)
    dense = rollout_shards(Parallelism(tensor=2, attention_data=2, expert=4), 2)
    assert (dense.slices, dense.copies) == (2, 4)


@pytest.mark.parametrize(("stages", "slices"), [(3, 1), (1, 3)])
def test_degrees_that_do_not_divide_do_not_nest(stages: int, slices: int) -> None:
    assert nested_shards(training_shards(configuration(4, 4, 1)), stages, slices) is None
