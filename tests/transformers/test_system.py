"""Machines are those of the catalogue unless another number is given."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import Accelerator, accelerators, find_accelerator
from topoopt.transformers import usual_system


def test_machines_are_those_of_the_catalogue_unless_another_number_is_given() -> None:
    h100 = find_accelerator("h100")
    system = usual_system("h100")
    assert (system.accelerators_per_server, system.network_latency_s) == (8, 1e-6)
    assert system.scale_up_bandwidth_bps == h100.scale_up_bandwidth_bps == 3.6e12
    assert system.network_bandwidth_bps == h100.nic_bandwidth_bps == 400e9
    own = usual_system("h100", 4, 2.4e12, 100e9, 2e-6)
    assert (own.accelerators_per_server, own.network_bandwidth_bps) == (4, 100e9)
    assert (own.scale_up_bandwidth_bps, own.network_latency_s) == (2.4e12, 2e-6)


@pytest.mark.parametrize("part", accelerators(), ids=lambda part: part.name)
def test_every_accelerator_makes_machines_or_says_what_to_give(part: Accelerator) -> None:
    known = (part.scale_up_bandwidth_bps, part.nic_bandwidth_bps)
    if None in known:
        with pytest.raises(InvalidInput, match="the catalogue gives none for"):
            usual_system(part.name)
    own = usual_system(part.name, scale_up_bandwidth_bps=1e9, network_bandwidth_bps=1e9)
    assert own.accelerators_per_server >= 1
