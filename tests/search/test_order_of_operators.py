"""Operators are served as they become ready: towers that are computed side by side hide each other's exchanges."""

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.finder import FinderRules
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.search.candidates.candidate import simulated, wired_candidate
from topoopt.search.proposals.mcmc import make_problem
from topoopt.workloads import Operator, OperatorGraph, Weight
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy

SERVERS, TOWERS, LAYERS = 8, 4, 4


def towers(width: int) -> Job:
    """Towers of equal layers, one operator after the other in the graph; a last one joins them."""
    rows: list[Operator] = []
    for tower in range(TOWERS):
        for layer in range(LAYERS):
            inputs = (len(rows) - 1,) if layer else ()
            weights = (Weight("w", 4 * width * width),)
            work = 2.0 * width * width
            name = f"tower{tower}.{layer}"
            splits = frozenset({"batch", "out", "in"})
            rows.append(Operator(name, "dense", inputs, weights, 4 * width, work, 8.0 * width, splits))
    ends = tuple(range(LAYERS - 1, TOWERS * LAYERS, LAYERS))
    join = Operator("join", "concat", ends, (), 4 * width * TOWERS, 1.0, 8.0 * width, frozenset({"batch"}))
    graph = OperatorGraph("towers", (*rows, join), 2048)
    return make_job(graph, ClusterSpec(SERVERS, 4, 100e9), JobSettings(memory_check="off"))


@pytest.mark.parametrize("split", ["by-group", "proportional"])
def test_the_estimate_is_what_flows_take(split: str) -> None:
    """In the order of the graph every exchange of a tower would wait until the towers before are done."""
    job = towers(4096)
    splits = [
        OperatorSplit(SERVERS // 2, 0, 2, "in") if "in" in op.splits else OperatorSplit(SERVERS)
        for op in operators_of(job).graph.operators
    ]
    strategy = ParallelStrategy(SERVERS, tuple(splits))
    row = wired_candidate(job, strategy, FinderRules(split), 0)
    estimate_s = make_problem(job, row.fabric).iteration_time_s(strategy)
    flow_s = simulated(job, strategy, row.fabric, "flow").iteration_time_s
    assert estimate_s == pytest.approx(flow_s, rel=0.03)
