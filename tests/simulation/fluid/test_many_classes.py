"""An engine that looks only at the classes an event changes is as one that looks at all."""

import numpy as np
import pytest

from topoopt.finder import FabricRequest, build_fabric
from topoopt.simulation import TRANSFER, SimulationOptions, TaskRows, simulate, task_graph_from_edges
from topoopt.simulation.fluid import engine

SERVERS = 8


@pytest.mark.parametrize("split", ["spread", "paths", "one"])
@pytest.mark.parametrize("seed", range(6))
def test_many_classes_end_when_all_are_looked_at(
    seed: int, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transfers of random sizes that wait for each other, so that classes come, gain connections, and go."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(20, 120))
    src = rng.integers(0, SERVERS, count)
    dst = (src + rng.integers(1, SERVERS, count)) % SERVERS
    rows = [
        TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=rng.choice([10**5, 10**6, 3 * 10**6], count))
    ]
    before = rng.integers(0, count - 1, 2 * count)
    after = rng.integers(before + 1, count)
    graph = task_graph_from_edges(SERVERS, rows, before, after)
    fabric = build_fabric("expander", FabricRequest(SERVERS, 3, 1e11))
    options = SimulationOptions(split=split, seed=seed, tolerance=0.0)
    all_of_them = simulate("flow", graph, fabric, options).finish_s
    monkeypatch.setattr(engine, "MANY", 1)
    changed_ones = simulate("flow", graph, fabric, options).finish_s
    assert changed_ones == pytest.approx(all_of_them, rel=1e-9)
