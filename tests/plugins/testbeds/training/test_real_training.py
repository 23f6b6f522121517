"""Training on several servers has the gradients of training on one, whatever the model."""

import pytest

from topoopt.plugins.testbeds.training.ranks import Ranks

RINGS = ((0, 1, 2, 3, 4), (0, 2, 4, 1, 3))


@pytest.mark.parametrize("model", ["dlrm", "vgg", "transformer", "perceptron"])
def test_gradients_are_those_of_one_process(ranks: Ranks, model: str) -> None:
    placement = (3, 0, 3, 1, 4, 4, 4) if model == "dlrm" else ()
    checks = ranks.run("train", 60.0, model=model, rings=RINGS, steps=4, placement=placement)
    assert max(check.gradient_error for check in checks) < 1e-13  # in double precision
    assert all(check.last_loss < check.first_loss for check in checks)
