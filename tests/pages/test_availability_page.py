"""The page of a month of failures: its first sentence says where an iteration that counts comes quickest."""

from types import SimpleNamespace
from typing import Any

import pytest

from topoopt.pages.failure_page import headline
from topoopt.plans import ComparedFabric, Outcome
from topoopt.studies.failure import Estimate


def fabric(name: str, iteration_s: float, goodput: float) -> Any:
    return SimpleNamespace(
        row=ComparedFabric(name, "", 4e11, Outcome("analytic", iteration_s, 0.0, 0.0, 0.0, 1.0)),
        availability=SimpleNamespace(goodput=Estimate(goodput, 0.0)),
        effective_iteration_time_s=iteration_s / goodput,
    )


def answer(*fabrics: Any) -> Any:
    return SimpleNamespace(own=fabrics[0], fabrics=fabrics)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((), "98.00% of the samples that there would be without failures."),
        (
            (fabric("torus", 2.0, 0.99),),
            "98.00% of the samples that there would be without failures; with failures counted no other fabric is "
            "faster.",
        ),
        (
            (fabric("rail", 0.98, 0.999), fabric("torus", 2.0, 0.99)),
            "98.00% of the samples that there would be without failures; with failures counted rail is 1.04 × as fast, "
            "at 99.90%.",
        ),
    ],
)
def test_the_first_sentence(others: tuple[Any, ...], said: str) -> None:
    assert headline(answer(fabric("topoopt", 1.0, 0.98), *others)) == said
