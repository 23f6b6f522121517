"""The grid has every combination once, and nothing that nobody can buy."""

from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, compared_by, networks_of
from topoopt.studies.choice import network_grid


def test_every_combination_is_there_once() -> None:
    found = network_grid(16, (2, 4), (1e11, 4e11), ("rail", "topoopt"), ("pluggable", "linear"))
    assert len(found) == len(set(found)) == 2 * 2 * 2 * 2
    assert {one.server_bandwidth_bps for one in found} == {2e11, 4e11, 8e11, 16e11}


@pytest.mark.parametrize("fabric", networks_of("choose"))
def test_every_fabric_can_be_priced_and_timed(fabric: str) -> None:
    (one,) = network_grid(16, (2,), (1e11,), (fabric,))
    assert one.fabric in NETWORKS
    assert NETWORKS[one.timed.fabric].is_built
    assert one.timed.server_bandwidth_bps == one.server_bandwidth_bps


def test_the_usual_fabrics_are_known() -> None:
    assert set(compared_by("choose")) <= set(networks_of("choose"))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"degrees": ()}, "degrees: none leaves nothing to choose from"),
        ({"fabrics": ("fat-tree",)}, "is no point of a grid; a fat-tree without blocking is ideal-switch"),
        ({"fabrics": ("tors",)}, "did you mean torus"),
        ({"degrees": (0,)}, "degrees: a server has 1..72 ports, got 0"),
        ({"degrees": (73,)}, "got 73"),
        ({"bandwidths_bps": (0.0,)}, "bandwidths: expected bits per second above 0"),
        ({"bandwidths_bps": tuple(float(bps) for bps in range(1, 10_000))}, "networks, allowed are 10,000"),
    ],
)
def test_a_mistake_is_one_line(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as found:
        network_grid(16, **axes)
    assert message in str(found.value)
