"""A search tells each answer that beats all before it, and is the same search."""

from itertools import pairwise
from typing import Any

import pytest

import topoopt
from topoopt.search import Draft


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("candle", {"servers": 8, "degree": 4, "budget": 60}),
        ("llama3-8b", {"servers": 4, "degree": 2, "tp": 8}),
    ],
)
def test_drafts_fall_to_the_answer_and_change_nothing(model: str, words: dict[str, Any]) -> None:
    told: list[Draft] = []
    heard = topoopt.plan(model, bandwidth="100Gbps", fabrics=(), on_draft=told.append, **words)
    silent = topoopt.plan(model, bandwidth="100Gbps", fabrics=(), **words)
    assert heard.outcome == silent.outcome
    assert told
    assert all(later.time_s < earlier.time_s for earlier, later in pairwise(told))
    assert heard.outcome.iteration_time_s <= told[-1].time_s * (1 + 1e-9)
    for one in told:
        assert one.wiring
        assert one.lower_bound_s is not None
        assert one.gap is not None
        assert one.gap >= -1e-9
