"""A plan that passes, for every test to spoil in its own way."""

import pytest

import topoopt


@pytest.fixture(scope="session")
def good() -> topoopt.Plan:
    """Return a plan of rings, with transfers over several paths of a pair."""
    return topoopt.plan(
        "dlrm",
        servers=12,
        degree=4,
        fabrics=(),
        budget=40,
        wirings="strides",
        collective="stepped",
        routing="ecmp",
    )


@pytest.fixture(scope="session")
def with_broadcast() -> topoopt.Plan:
    """Return a plan whose AllReduces go by breadth-first broadcast."""
    return topoopt.plan("vgg16", servers=8, degree=4, fabrics=(), budget=5, collective="bfb")
