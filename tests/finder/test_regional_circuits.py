"""Circuits of a region: the greedy rule, the exact optimum, and how long an all-to-all takes on either."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import best_regional_circuits, exchange_time_s, regional_circuits

EXAMPLE = np.zeros((4, 4))
EXAMPLE[[0, 0, 1, 1, 2], [1, 2, 2, 3, 3]] = 9, 3, 1, 2, 8

SATURATED = ("break", "skip")


def random_demand(servers: int, seed: int) -> np.ndarray:
    demand = np.random.default_rng(seed).gamma(0.7, 1e9, (servers, servers))
    np.fill_diagonal(demand, 0.0)
    return demand


@pytest.mark.parametrize("saturated", SATURATED)
def test_the_worked_example_comes_out(saturated: str) -> None:
    """Three optical ports: pairs 01, 02, 12, 13 and 23 get one circuit each (MixNet, its greedy algorithm)."""
    circuits = regional_circuits(EXAMPLE, 3, saturated)
    assert np.argwhere(np.triu(circuits)).tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert circuits.max() == 1


def test_both_directions_count_together() -> None:
    assert (regional_circuits(EXAMPLE.T, 3) == regional_circuits(EXAMPLE, 3)).all()
    assert (regional_circuits(EXAMPLE / 2 + EXAMPLE.T / 2, 3) == regional_circuits(EXAMPLE, 3)).all()


def test_a_pair_alone_gets_all_ports() -> None:
    demand = np.array([[0.0, 5.0], [0.0, 0.0]])
    assert regional_circuits(demand, 6)[0, 1] == 6


def test_break_stops_at_the_first_pair_without_ports_and_skip_goes_on() -> None:
    demand = np.zeros((4, 4))
    demand[0, 1], demand[0, 2], demand[2, 3] = 9.0, 8.0, 1.0
    assert np.argwhere(np.triu(regional_circuits(demand, 1, "break"))).tolist() == [[0, 1]]
    assert np.argwhere(np.triu(regional_circuits(demand, 1, "skip"))).tolist() == [[0, 1], [2, 3]]


@given(st.integers(2, 7), st.integers(1, 6), st.sampled_from(SATURATED), st.integers(0, 10**6), st.booleans())
def test_no_server_has_more_circuits_than_ports(
    servers: int, ports: int, saturated: str, seed: int, sparse: bool
) -> None:
    demand = random_demand(servers, seed)
    if sparse:
        demand[demand < np.median(demand)] = 0.0
    circuits = regional_circuits(demand, ports, saturated)
    assert (circuits == circuits.T).all()
    assert circuits.sum(axis=1).max() <= ports
    assert (circuits[(demand + demand.T) == 0] == 0).all()
    more = regional_circuits(demand, ports, "skip")
    assert (more >= regional_circuits(demand, ports, "break")).all()


@pytest.mark.parametrize(("servers", "ports", "electrical_bps"), [(3, 2, 200e9), (3, 3, 0.0), (4, 2, 50e9)])
def test_the_program_finds_what_trying_all_circuits_finds(
    servers: int, ports: int, electrical_bps: float
) -> None:
    for seed in range(4):
        demand = random_demand(servers, seed)
        found = best_regional_circuits(demand, ports, 100e9, electrical_bps)
        best = min(
            exchange_time_s(demand, circuits, 100e9, electrical_bps)
            for circuits in every_set_of_circuits(servers, ports)
        )
        assert found.sum(axis=1).max() <= ports
        assert exchange_time_s(demand, found, 100e9, electrical_bps) == pytest.approx(best)


def every_set_of_circuits(servers: int, ports: int) -> list[np.ndarray]:
    first, second = np.triu_indices(servers, 1)
    found = []
    for count in itertools.product(range(ports + 1), repeat=len(first)):
        circuits = np.zeros((servers, servers), np.int64)
        circuits[first, second] = count
        circuits += circuits.T
        if circuits.sum(axis=1).max() <= ports:
            found.append(circuits)
    return found


@pytest.mark.parametrize("saturated", SATURATED)
def test_the_greedy_rule_is_never_faster_than_the_program(saturated: str) -> None:
    """With 2 electrical and 6 optical ports the rule is slower: it wires pairs that are better off without."""
    ratios = []
    for seed in range(5):
        demand = random_demand(6, seed)
        best = exchange_time_s(demand, best_regional_circuits(demand, 4, 400e9, 800e9), 400e9, 800e9)
        ratios.append(exchange_time_s(demand, regional_circuits(demand, 4, saturated), 400e9, 800e9) / best)
    assert min(ratios) >= 1 - 1e-9
    assert max(ratios) > 1.1


def test_an_exchange_ends_with_its_slowest_circuit_or_its_busiest_electrical_port() -> None:
    demand = np.array([[0.0, 8e9, 1e9], [4e9, 0.0, 0.0], [0.0, 3e9, 0.0]])
    circuits = np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    # 8 GB over two circuits of 100 Gb/s; 1 GB out of server 0, 3 GB from 2 to 1
    assert exchange_time_s(demand, circuits, 100e9, 50e9) == pytest.approx(0.48)
    assert exchange_time_s(demand, circuits, 100e9, 200e9) == pytest.approx(0.32)
    assert exchange_time_s(demand, circuits, 100e9, 0.0) == float("inf")


def test_nothing_to_send_needs_no_circuits() -> None:
    nothing = np.zeros((3, 3))
    assert not regional_circuits(nothing, 2).any()
    assert not best_regional_circuits(nothing, 2, 1e9, 0.0).any()
    assert exchange_time_s(nothing, np.zeros((3, 3), np.int64), 1e9, 0.0) == 0.0


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidInput, match="demand must be a square matrix"):
        regional_circuits(np.zeros((2, 3)), 1)
    with pytest.raises(InvalidInput, match="at least 1 optical port, got 0"):
        regional_circuits(EXAMPLE, 0)
    with pytest.raises(InvalidInput, match="saturated: unknown name"):
        regional_circuits(EXAMPLE, 1, "stop")
    with pytest.raises(InvalidInput, match="too many for an exact answer"):
        best_regional_circuits(np.ones((64, 64)), 6, 1e9, 1e9)
    with pytest.raises(Infeasible, match="no pair may be left without"):
        best_regional_circuits(np.ones((4, 4)), 1, 1e9, 0.0)
