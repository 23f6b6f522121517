"""The words of interleaving name every solver."""

from topoopt.interleave import SOLVERS
from topoopt.interleave.solvers import AUTO
from topoopt.words import InterleaveWords, described


def test_the_solvers_are_those_of_the_table() -> None:
    [solver] = [word for word in described(InterleaveWords) if word.name == "solver"]
    assert solver.word.form == "|".join((AUTO, *SOLVERS))
