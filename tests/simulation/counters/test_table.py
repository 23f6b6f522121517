"""Every simulator has counters, and their readers have no others."""

from topoopt.simulation import SIMULATORS
from topoopt.simulation.link_counters import COUNTER_READERS


def test_every_simulator_has_counters_that_are_read() -> None:
    assert set(COUNTER_READERS) == set(SIMULATORS)
