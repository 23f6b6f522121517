"""All-to-all brings everything where it belongs."""

from topoopt.plugins.testbeds.training.ranks import Ranks

PROGRAM = "tests.plugins.testbeds.collectives.member_programs:exchanged"


def test_uneven_sizes_arrive(ranks: Ranks) -> None:
    answers = ranks.run(PROGRAM, 30.0)
    assert answers == [[[source * 10 + rank] * rank for source in range(5)] for rank in range(5)]
