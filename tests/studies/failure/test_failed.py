"""What a failure takes away, and what it says of failures that cannot be."""

import numpy as np
import pytest

from tests.studies.failure.conftest import MakePlan
from topoopt.base.errors import InvalidInput
from topoopt.studies.failure import FailedInterface, FailedLink, FailedPanel, FailedServer, Failure, situation


@pytest.mark.parametrize(
    ("failure", "links"),
    [(FailedLink(0, 1), 2), (FailedInterface(3, 2), 2), (FailedServer(7), 8), (FailedPanel(1), 16)],
)
def test_duplex_links_that_are_gone(small_plan: MakePlan, failure: Failure, links: int) -> None:
    plan = small_plan()
    found = situation(plan, failure)
    assert len(plan.fabric.topology) - len(found.topology) == links
    assert len(found.left.patches) + len(found.broken) == len(found.wiring.patches)
    for patch in found.broken:
        assert found.topology.link_id(patch.src, patch.dst) < 0
        assert found.topology.link_id(patch.dst, patch.src) < 0


@pytest.mark.parametrize(
    ("failure", "links"),
    [(FailedLink(0, 1), 1), (FailedInterface(3, 2), 2), (FailedServer(7), 8), (FailedPanel(1), 16)],
)
def test_directed_links_that_are_gone(small_plan: MakePlan, failure: Failure, links: int) -> None:
    plan = small_plan(links="directed")
    found = situation(plan, failure)
    assert len(plan.fabric.topology) - len(found.topology) == links


def test_of_parallel_links_one_is_left(small_plan: MakePlan) -> None:
    plan = small_plan(servers=2, degree=4)
    found = situation(plan, FailedLink(1, 0))
    assert found.topology.ports.tolist() == [3, 3]
    assert np.allclose(found.topology.bandwidth_bps, 75e9)


def test_dead_ports_stay_empty(small_plan: MakePlan) -> None:
    found = situation(small_plan(), FailedPanel(2))
    assert {port[2] for port in found.left.dead} == {2}
    assert len(found.left.dead) == 16
    assert {port[1] for port in situation(small_plan(), FailedServer(5)).left.dead} == {5}


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (FailedLink(0, 2), r"there is no link 0-2; server 0 is wired to 1, \d+, \d+, 15"),
        (FailedLink(0, 16), r"link: expected a number in 0\.\.15, got 16"),
        (FailedServer(-1), r"server: expected a number in 0\.\.15, got -1"),
        (FailedPanel(4), r"panel: expected a number in 0\.\.3, got 4"),
        (FailedInterface(0, 4), r"interface: expected a number in 0\.\.3, got 4"),
    ],
)
def test_what_cannot_fail(small_plan: MakePlan, failure: Failure, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        situation(small_plan(), failure)
