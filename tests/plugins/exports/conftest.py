"""Plans that exports are made of, found once."""

from typing import Any

import pytest

import topoopt

WORDS: dict[str, Any] = {"bandwidth": "100Gbps", "fabrics": (), "budget": 0, "wirings": "strides"}


@pytest.fixture(scope="session")
def plan() -> topoopt.Plan:
    """16 servers of 4 ports, cables."""
    return topoopt.plan("dlrm", servers=16, degree=4, **WORDS)


@pytest.fixture(scope="session")
def directed_plan() -> topoopt.Plan:
    """16 servers of 2 ports, fibers one way."""
    return topoopt.plan("dlrm", servers=16, degree=2, links="directed", **WORDS)


@pytest.fixture(scope="session")
def other_plan() -> topoopt.Plan:
    """The same servers, wired otherwise."""
    return topoopt.plan("dlrm", servers=16, degree=4, **{**WORDS, "wirings": "any"})


@pytest.fixture(scope="session")
def twelve() -> topoopt.Plan:
    """The paper's testbed: 12 servers of 4 ports along strides 1 and 5, a DLRM of several paths a pair."""
    return topoopt.plan("dlrm", servers=12, degree=4, **WORDS)
