"""An engine that looks only at the links an event changes is as one that looks at all."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    TRANSFER,
    Aggressiveness,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.simulation.flows.flows import make_flows
from topoopt.simulation.fluid import engine
from topoopt.simulation.fluid.engine_kernel import advance
from topoopt.simulation.fluid.state import ACTIVE, MANY

SERVERS = 8
PLAIN = 1 << 40
"""More classes than there are: the engine looks at all."""


def transfers(seed: int, servers: int, count: int, waits: int) -> tuple[TaskGraph, Fabric]:
    """Transfers of random sizes, of which some wait for others, on an expander."""
    rng = np.random.default_rng(seed)
    src = rng.integers(0, servers, count)
    dst = (src + rng.integers(1, servers, count)) % servers
    size = rng.choice([10**5, 10**6, 3 * 10**6], count) + rng.integers(0, 10**5, count)
    before = rng.integers(0, count - 1, waits)
    rows = [TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=size)]
    graph = task_graph_from_edges(servers, rows, before, rng.integers(before + 1, count))
    return graph, build_fabric("expander", FabricRequest(servers, 3, 1e11))


@pytest.mark.parametrize("split", ["spread", "paths", "one"])
@pytest.mark.parametrize("seed", range(6))
def test_many_classes_end_when_all_are_looked_at(
    seed: int, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transfers of random sizes that wait for each other, so that classes come, gain connections, and go."""
    count = int(np.random.default_rng(seed).integers(20, 120))
    graph, fabric = transfers(seed, SERVERS, count, 2 * count)
    options = SimulationOptions(split=split, seed=seed, tolerance=0.0)
    all_of_them = simulate("flow", graph, fabric, options).finish_s
    monkeypatch.setattr(engine, "MANY", 1)
    changed_ones = simulate("flow", graph, fabric, options).finish_s
    assert changed_ones == pytest.approx(all_of_them, rel=1e-9)


@pytest.mark.parametrize("split", ["paths", "one"])
def test_thousands_of_classes_end_when_all_are_looked_at(split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, fabric = transfers(0, 64, 4_000, 3_000)
    options = SimulationOptions(split=split, tolerance=0.0)
    assert len(make_flows(graph, fabric, options).class_first) > MANY
    changed_ones = simulate("flow", graph, fabric, options)
    assert changed_ones.options.share_tolerance == 0.0
    monkeypatch.setattr(engine, "MANY", PLAIN)
    all_of_them = simulate("flow", graph, fabric, options)
    assert changed_ones.finish_s == pytest.approx(all_of_them.finish_s, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_change_are_seen_by_both(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, fabric = transfers(seed, SERVERS, 60, 60)
    options = SimulationOptions(aggressiveness=Aggressiveness(), tolerance=0.0)
    all_of_them = simulate("flow", graph, fabric, options).finish_s
    monkeypatch.setattr(engine, "MANY", 1)
    assert simulate("flow", graph, fabric, options).finish_s == pytest.approx(all_of_them, rel=1e-9)


@pytest.mark.parametrize("slack", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_every_flow_has_a_bottleneck_that_is_full_but_for_the_slack(
    seed: int, slack: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its flow with the highest level has at least the fair share of what the link lacks or has too much."""
    monkeypatch.setattr(engine, "MANY", 1)
    graph, fabric = transfers(seed, SERVERS, 400, 200)
    flows = make_flows(graph, fabric, SimulationOptions(split="one"))
    capacity = fabric.topology.bandwidth_bps / 8.0
    state, net, delays = engine.before_flows(graph, flows, capacity, slack)
    x, seen = state.sharing, 0
    for until in np.linspace(0.0, simulate("flow", graph, fabric).iteration_time_s, 20)[1:]:
        advance(state, net, delays, until, 0.0)
        active = x.active[: x.tally[ACTIVE]].tolist()
        links = {c: flows.class_link[flows.class_first[c] : flows.class_first[c + 1]] for c in active}
        load, top = np.zeros(len(capacity)), np.zeros(len(capacity))
        for c in active:
            load[links[c]] += x.weight[c] * x.level[c]
            top[links[c]] = np.maximum(top[links[c]], x.level[c])
        at_top = np.zeros(len(capacity))
        for c in active:
            at_top[links[c]] += np.where(
                x.level[c] >= top[links[c]] * (1 - 1e-9), x.weight[c] * x.level[c], 0.0
            )
        wrong = np.abs(capacity - load) > slack * at_top + 1e-9 * capacity
        assert (load <= capacity / (1 - slack) * (1 + 1e-9)).all()
        for c in active:
            assert any(not wrong[m] and x.level[c] >= top[m] * (1 - 1e-9) for m in links[c])
            seen += 1
    assert seen > 100


def test_tolerances_are_stated_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, fabric = transfers(0, 64, 3_000, 0)
    default = simulate("flow", graph, fabric).options
    assert (default.tolerance, default.share_tolerance) == (3e-4, 0.0)
    monkeypatch.setattr("topoopt.simulation.fluid.simulator.EXACT_SHARES", 2_500)
    default = simulate("flow", graph, fabric).options
    assert (default.tolerance, default.share_tolerance) == (3e-4, 0.02)
    assert simulate("flow", graph, fabric, SimulationOptions(tolerance=1e-6)).options.share_tolerance == 0.0
    with pytest.raises(InvalidInput, match="share_tolerance: must be in 0 <= share_tolerance < 1, got 1"):
        SimulationOptions(share_tolerance=1.0)
