"""What a training iteration does: tasks, dependencies and times, checked by hand on small models."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    PHASES,
    TRANSFER,
    IterationCosts,
    SimResult,
    TaskGraph,
    build_task_graph,
    simulate,
)
from topoopt.topologies import ideal_switch
from topoopt.workloads import Operator, OperatorGraph, OperatorTime, Weight
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy

BATCH = 4
"""Samples per accelerator; one accelerator a server unless a test says otherwise."""


class FixedTimer:
    """Forward 1 s and backward 2 s for the whole batch, divided over the parts."""

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        share = samples / (2 * BATCH) / channel_degree
        return OperatorTime(share, 2 * share, "fixed")


def dense(name: str, inputs: tuple[int, ...] = (), weights: int = 0, width: int = 100) -> Operator:
    tensors = tuple(Weight(f"{name}.{i}", 10_000) for i in range(weights))
    return Operator(name, "dense", inputs, tensors, width)


def table(name: str) -> Operator:
    return Operator(name, "embedding", (), (Weight(f"{name}.rows", 10_000),), 100)


def build(operators: list[Operator], splits: list[OperatorSplit], **options: float) -> TaskGraph:
    graph = OperatorGraph("test", tuple(operators), BATCH)
    counted = IterationCosts(**{"accelerators_per_server": 1, **options})  # type: ignore[arg-type]
    return build_task_graph(graph, ParallelStrategy(2, tuple(splits)), FixedTimer(), counted)


def run(graph: TaskGraph, simulator: str = "flow") -> SimResult:
    topology = ideal_switch(2, 100e9)
    return simulate(simulator, graph, Fabric("test", topology, make_routes("single-shortest", topology), {}))


def tasks(graph: TaskGraph, kind: int) -> list[int]:
    return np.flatnonzero(graph.kind == kind).tolist()


def named(graph: TaskGraph) -> dict[str, int]:
    return {graph.name(task): task for task in range(len(graph))}


def successors(graph: TaskGraph, task: int) -> set[str]:
    after = graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]]
    return {graph.name(int(other)) for other in after}


ON_BOTH = OperatorSplit(2)
ON_FIRST, ON_SECOND = OperatorSplit(1, 0), OperatorSplit(1, 1)


def test_data_parallel_layers_stay_on_their_servers_and_synchronize_each_tensor() -> None:
    graph = build([dense("a", weights=2), dense("b", (0,), weights=1)], [ON_BOTH, ON_BOTH])
    assert not tasks(graph, TRANSFER)
    assert [graph.members(task) for task in tasks(graph, COLLECTIVE)] == [(0, 1)] * 3
    forward = named(graph)["a forward on server 1"]
    assert successors(graph, forward) == {"b forward on server 1", "a backward on server 1"}
    last = named(graph)["b backward on server 0"]
    assert successors(graph, last) == {"a backward on server 0", "b allreduce over 2 servers"}


def test_forward_tasks_are_numbered_in_model_order_and_backward_tasks_in_reverse() -> None:
    graph = build([dense("a"), dense("b"), dense("c", (0, 1))], [ON_FIRST, ON_FIRST, ON_FIRST])
    names = [graph.name(task).rsplit(" on", 1)[0] for task in range(6)]
    assert names == ["a forward", "b forward", "c forward", "c backward", "b backward", "a backward"]


def test_layers_on_different_servers_exchange_activations_and_as_many_gradients() -> None:
    graph = build([dense("a"), dense("b", (0,))], [ON_FIRST, ON_SECOND])
    moves = tasks(graph, TRANSFER)
    assert [(graph.name(t), int(graph.size_bytes[t])) for t in moves] == [
        ("a activation 0->1", 8 * 100),
        ("a gradient 1->0", 8 * 100),
    ]
    assert successors(graph, moves[0]) == {"b forward on server 1"}
    assert successors(graph, moves[1]) == {"a backward on server 0"}
    # 1 + 1 forward, 2 + 2 backward, one after the other
    assert run(graph).compute_time_s == pytest.approx(6.0)


@pytest.mark.parametrize("factor", [1, 2])
def test_an_embedding_table_sends_each_server_its_samples(factor: int) -> None:
    graph = build([table("t"), dense("top", (0,))], [ON_FIRST, ON_BOTH], embedding_bytes_factor=factor)
    moves = {graph.name(t): int(graph.size_bytes[t]) for t in tasks(graph, TRANSFER)}
    # server 0 keeps its own half of 8 samples
    assert moves == {"t activation 0->1": 400 * factor, "t gradient 1->0": 400 * factor}


def test_the_backward_pass_of_a_table_waits_for_all_its_gradients() -> None:
    graph = build([table("t"), dense("top", (0,))], [ON_FIRST, ON_BOTH])
    result, names = run(graph), named(graph)
    gradients = [names["top backward on server 0"], names["t gradient 1->0"]]
    assert result.start_s[names["t backward on server 0"]] == max(result.finish_s[gradients])


def test_every_gpu_of_a_server_adds_its_gradients_first_but_not_for_tables() -> None:
    operators = [Operator("t", "embedding", (), (Weight("w", 10_000),), 100), dense("top", (0,), weights=1)]
    graph = build(
        operators, [ON_BOTH, ON_BOTH], accelerators_per_server=4, intra_server_bandwidth_bps=8 * 1000.0
    )
    delay = {graph.operator_names[graph.operator[t]]: graph.duration_s[t] for t in tasks(graph, COLLECTIVE)}
    assert delay == {"t": 0.0, "top": pytest.approx(2 * 10_000 / 4 / 1000)}


def test_a_tensor_on_one_server_has_only_the_delay_inside_it() -> None:
    graph = build([dense("a", weights=1)], [ON_FIRST], accelerators_per_server=4)
    (sync,) = tasks(graph, COLLECTIVE)
    assert graph.members(sync) == (0,)
    result = run(graph)
    assert result.finish_s[sync] - result.start_s[sync] == pytest.approx(2 * 10_000 / 4 / 25e9)
    assert not tasks(build([dense("a", weights=1)], [ON_FIRST]), COLLECTIVE)


def test_a_server_works_first_come_first_served_and_by_task_number_among_equals() -> None:
    # b and c are ready at the same time; d becomes ready while c is still waiting
    operators = [dense("a"), dense("b", (0,)), dense("c", (0,)), dense("d", (1,))]
    graph = build(operators, [ON_FIRST] * 4)
    result, names = run(graph), named(graph)
    starts = {name[0]: result.start_s[t] for name, t in names.items() if "forward" in name}
    assert starts == {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}


def test_the_next_iteration_waits_layer_by_layer_for_its_gradients() -> None:
    graph = build([dense("a", weights=1), dense("b", (0,), weights=1)], [ON_BOTH, ON_BOTH], iterations=3)
    result = run(graph)
    held: dict[str, list[float]] = {"a": [], "b": []}
    for sync in tasks(graph, COLLECTIVE):
        after = graph.successor[graph.successor_first[sync] : graph.successor_first[sync + 1]]
        name = graph.operator_names[graph.operator[sync]]
        assert {graph.name(int(t)) for t in after} <= {f"{name} forward on server {s}" for s in (0, 1)}
        assert (graph.iteration[after] == graph.iteration[sync] + 1).all()
        held[name] += (result.start_s[after] - result.finish_s[sync]).tolist()
    assert min(held["a"]) == pytest.approx(0.0, abs=1e-12)  # the first layer waits for its AllReduce
    assert min(held["b"]) > 0.1  # the second one's has long been done


def test_steady_state_hides_what_the_first_iteration_shows() -> None:
    slow = Operator("b", "dense", (0,), (Weight("w", 10**10),), 100)
    quick = dense("a")
    cold = run(build([quick, slow], [ON_BOTH, ON_BOTH]))
    steady = run(build([quick, slow], [ON_BOTH, ON_BOTH], iterations=4))
    assert cold.compute_time_s == pytest.approx(3.0)
    assert steady.compute_time_s == pytest.approx(3.0)
    # b's AllReduce of 10 GB takes 0.8 s; 1 s of a's backward hides it, so nothing is exposed in the end
    assert cold.iteration_time_s == pytest.approx(3.0)
    assert steady.iteration_time_s == pytest.approx(3.0)
    first = Operator("a", "dense", (), (Weight("w", 10**10),), 100)
    late = [first, dense("b", (0,))]
    assert run(build(late, [ON_BOTH, ON_BOTH])).exposed_communication_s == pytest.approx(0.8, rel=1e-3)
    # the first layer's cannot be hidden, neither cold nor later: its own next forward waits for it
    repeated = run(build(late, [ON_BOTH, ON_BOTH], iterations=4))
    assert repeated.exposed_communication_s == pytest.approx(0.8, rel=1e-3)


def test_a_late_layer_hides_its_gradients_behind_the_next_forward_pass() -> None:
    # a wide second layer whose AllReduce outlasts the first layer's backward pass
    wide = Operator("b", "dense", (0,), (Weight("w", 15 * 10**9),), 100)
    cold = run(build([dense("a"), wide], [ON_BOTH, ON_BOTH]))
    steady = run(build([dense("a"), wide], [ON_BOTH, ON_BOTH], iterations=5))
    assert cold.exposed_communication_s == pytest.approx(0.2, rel=1e-2)
    assert steady.exposed_communication_s == pytest.approx(0.0, abs=1e-9)


def test_phases_and_iterations_are_labelled() -> None:
    graph = build([dense("a", weights=1), dense("b", (0,))], [ON_FIRST, ON_BOTH], iterations=2)
    assert {PHASES[p] for p in graph.phase} == {"forward", "backward", "activation", "gradient"}
    assert np.bincount(graph.iteration).tolist() == [len(graph) // 2] * 2
    assert graph.iterations == 2
    assert np.bincount(graph.kind).tolist() == [2 * 6, 2 * 2]
    assert tasks(graph, COMPUTE)[:3] == [0, 1, 2]


def test_mistakes_are_one_line_errors() -> None:
    with pytest.raises(InvalidInput, match="iterations must be >= 1, got 0"):
        build([dense("a")], [ON_FIRST], iterations=0)
    with pytest.raises(InvalidInput, match="the strategy splits 2 operators, model test has 1"):
        build([dense("a")], [ON_FIRST, ON_FIRST])


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("simulator", ["analytic", "flow", "packet"])
def test_micro_batches_overlap_two_layers_as_the_closed_form_of_a_flow_shop_says(
    pieces: int, simulator: str
) -> None:
    """The second layer begins a piece later and never stops; the first ends a backward piece after it."""
    graph = build([dense("a"), dense("b", (0,))], [ON_FIRST, ON_SECOND], microbatches=pieces)
    assert run(graph, simulator).compute_time_s == pytest.approx(3 + 3 / pieces, rel=1e-4)
    for phase in ("activation", "gradient"):
        of_phase = (graph.kind == TRANSFER) & (graph.phase == PHASES.index(phase))
        assert graph.size_bytes[of_phase].sum() == 8 * 100
    assert np.bincount(graph.kind)[COMPUTE] == 4 * pieces


def test_gradients_are_reduced_after_the_last_micro_batch_and_tables_updated_after_all_lookups() -> None:
    graph = build([table("t"), dense("top", (0,), weights=1)], [ON_FIRST, ON_BOTH], microbatches=4)
    result = run(graph)
    of_phase = {name: graph.phase == PHASES.index(name) for name in ("forward", "backward", "allreduce")}
    name = np.array(graph.operator_names)[graph.operator]
    last_s = result.finish_s[of_phase["backward"] & (name == "top")].max()
    assert result.start_s[of_phase["allreduce"]].min() >= last_s
    lookups_s = result.finish_s[of_phase["forward"] & (name == "t")]
    assert result.start_s[of_phase["backward"] & (name == "t")].min() >= lookups_s.max()


def test_the_next_iteration_begins_where_all_micro_batches_have_updated_the_weights() -> None:
    graph = build([dense("a", weights=1)], [ON_BOTH], microbatches=3, iterations=2)
    result = run(graph)
    first, second = (graph.iteration == turn for turn in (0, 1))
    reduced_s = result.finish_s[first & (graph.kind == COLLECTIVE)].max()
    assert result.start_s[second & (graph.kind == COMPUTE)].min() >= reduced_s
