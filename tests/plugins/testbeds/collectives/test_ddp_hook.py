"""A model that is trained through the hook gets the gradients that one process alone computes."""

import pytest

from topoopt.plugins.testbeds.training.ranks import Ranks

PROGRAM = "tests.plugins.testbeds.collectives.member_programs:gradient_error"


@pytest.mark.parametrize("overlap", [1, 3])
def test_gradients_are_those_of_one_process(ranks: Ranks, overlap: int) -> None:
    answers = ranks.run(PROGRAM, 60.0, overlap=overlap)
    assert max(error for error, _ in answers) < 1e-15  # of gradients up to 0.1, in double precision
    assert min(buckets for _, buckets in answers) > 1
