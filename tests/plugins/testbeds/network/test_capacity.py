"""What this machine carries, and the scale that it says."""

import os

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds.network import capacity
from topoopt.plugins.testbeds.network.layout import switch_layout


def test_a_scale_beyond_the_machine_names_the_one_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "carried", lambda: 8e9)  # a quarter of it is 2 Gb/s
    layout = switch_layout(12, 100e9)  # 24 ports: 2.4 Tb/s
    assert capacity.capable_scale(layout, 1200, given=True) == 1200
    with pytest.raises(
        InvalidInput, match=r"2\.402 Gb/s, this machine carries 2 Gb/s \(measured\); use 1200 or more"
    ):
        capacity.capable_scale(layout, 999, given=True)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert capacity.capable_scale(layout, 1000, given=False) == 1200
    monkeypatch.setattr("os.getloadavg", lambda: (len(os.sched_getaffinity(0)), 0.0, 0.0))
    assert capacity.capable_scale(layout, 1000, given=False) == 2400


def test_links_slower_than_a_packet_in_72_ms_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"scale 30000: links of 833\.3 kb/s .* use 25000 or less"):
        capacity.capable_scale(switch_layout(12, 25e9), 30_000, given=True)


def test_the_machine_itself_is_measured(machine: str) -> None:
    assert 1e8 < capacity.carried() < 1e13
