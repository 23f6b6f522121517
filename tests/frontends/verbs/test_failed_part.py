"""A part that fails, found by its name or by the label of its cable."""

from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.verbs.fail import failed_part
from topoopt.plans.inventory import GivenInventory
from topoopt.studies.failure import FailedInterface, FailedLink, FailedPanel, FailedServer

NOTHING = GivenInventory()


def made(degree: int, links: str) -> topoopt.Plan:
    return topoopt.plan(
        "dlrm",
        servers=8,
        degree=degree,
        links=links,
        fabrics=(),
        budget=0,
        wirings="strides",
        strides="nearest",
    )


@pytest.fixture(scope="module")
def plan() -> topoopt.Plan:
    return made(4, "duplex")


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ({"server": 3}, FailedServer(3)),
        ({"server": "3"}, FailedServer(3)),
        ({"server": "srv003"}, FailedServer(3)),
        ({"panel": "panel2"}, FailedPanel(2)),
        ({"panel": "-1"}, FailedPanel(-1)),  # refused where the plan's panels are known
        ({"link": "3-4"}, FailedLink(3, 4)),
        (
            {"cable": "C0005"},
            FailedLink(0, 1),
        ),  # of srv001 ens1f0, the first interface of the ring of stride 1
    ],
    ids=str,
)
def test_a_name_a_number_or_a_label(plan: topoopt.Plan, words: dict[str, Any], failure: object) -> None:
    assert failed_part(words, plan, NOTHING) == failure


def test_a_cable_of_parallel_links_is_its_interface() -> None:
    """Four servers of eight ports have links side by side; their two ends alone would not say which is cut."""
    plan = topoopt.plan("dlrm", servers=4, degree=8, fabrics=(), budget=0, wirings="strides")
    assert failed_part({"cable": "C0010"}, plan, NOTHING) == FailedInterface(1, 1)


def test_one_fiber_is_one_link() -> None:
    plan = made(2, "directed")
    hears = failed_part({"cable": "C0006"}, plan, NOTHING)  # the receive fiber of srv001 ens1f0
    sends = failed_part({"cable": "C0005"}, plan, NOTHING)
    assert isinstance(hears, FailedLink)
    assert isinstance(sends, FailedLink)
    assert (hears.dst, sends.src) == (1, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"cable": "C9"}, 'cable: there is no "C9"'),
        ({"server": "9" * 6000}, 'server: there is no "999'),
        ({"panel": 10**5000}, "panel: expected a number <= 1000000, got a int"),
        ({"server": "٣"}, 'server: there is no "٣"'),
        ({"server": ""}, 'server: there is no ""'),
        ({"panel": "panel9"}, 'panel: there is no "panel9"; did you mean panel'),
    ],
)
def test_what_is_not_there(plan: topoopt.Plan, words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        failed_part(words, plan, NOTHING)
    assert said in str(caught.value)
