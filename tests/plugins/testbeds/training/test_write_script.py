"""A script for each server does what the task graph says, no more and no less."""

from dataclasses import replace

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds import job_of_plan, paper_plan
from topoopt.plugins.testbeds.training.fabric_run import predict_iteration
from topoopt.plugins.testbeds.training.job import Scale, scale_for
from topoopt.plugins.testbeds.training.script import Compute, Receive, Reduce, Send, ServerScript
from topoopt.plugins.testbeds.training.write_script import write_scripts
from topoopt.routing import Path, explicit_routes
from topoopt.simulation import COMPUTE, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges

SCALE = Scale(bandwidth=1000.0, size=100.0)


@pytest.fixture(scope="module")
def scripts() -> tuple[ServerScript, ...]:
    """Of the paper's DLRM: 12 tables, one on each server."""
    plan = paper_plan("dlrm")
    job = job_of_plan(plan)
    prediction = predict_iteration(job.graph, plan.fabric, SCALE)
    return write_scripts(job.graph, plan.fabric, SCALE, prediction.ready_s)


def test_times_are_stretched_by_bandwidth_over_size() -> None:
    assert SCALE.time == 10.0
    scale = scale_for(0.4, 25e9, 25e6, 3.0)
    assert scale.bandwidth == 1000.0
    assert scale.time * 0.4 == pytest.approx(3.0)


def test_every_message_that_is_sent_is_received(scripts: tuple[ServerScript, ...]) -> None:
    sent = {
        (server, step.action.peer, step.action.tag, step.action.size_bytes)
        for server, script in enumerate(scripts)
        for step in script.steps
        if isinstance(step.action, Send)
    }
    received = {
        (step.action.peer, server, step.action.tag, step.action.size_bytes)
        for server, script in enumerate(scripts)
        for step in script.steps
        if isinstance(step.action, Receive)
    }
    assert sent == received
    # rows of 12 tables go from each server to the 11 others and come back as gradients: 128 samples of 32768 numbers
    assert len(sent) == 2 * 12 * 11
    assert {size for *_, size in sent} == {round(128 * 32768 * 4 / 100)}


def test_all_servers_reduce_in_one_order_along_the_strides(scripts: tuple[ServerScript, ...]) -> None:
    orders = []
    for script in scripts:
        (order,) = script.orders
        actions = [script.steps[number].action for number in order]
        assert all(isinstance(action, Reduce) for action in actions)
        orders.append([(action.numbers, action.rings) for action in actions if isinstance(action, Reduce)])
    assert all(order == orders[0] for order in orders)
    rings = orders[0][0][1]
    strides = sorted((ring[1] - ring[0]) % 12 for ring in rings)
    assert strides == [1, 5, 7, 11]
    # all parameters outside tables, 2.127 GB, are reduced once
    total = sum(numbers for numbers, _ in orders[0])
    assert total * 4 * 100 == pytest.approx(2.127e9, rel=1e-3)


def test_every_step_can_begin(scripts: tuple[ServerScript, ...]) -> None:
    for script in scripts:
        missing = [step.waits_for for step in script.steps]
        ready = [number for number, count in enumerate(missing) if not count]
        done = 0
        while ready:
            done += 1
            for after in script.steps[ready.pop()].then:
                missing[after] -= 1
                if not missing[after]:
                    ready.append(after)
        assert done == len(script.steps)


def test_computing_lasts_as_much_longer(scripts: tuple[ServerScript, ...]) -> None:
    job = job_of_plan(paper_plan("dlrm"))
    for server, script in enumerate(scripts):
        slept_s = sum(step.action.duration_s for step in script.steps if isinstance(step.action, Compute))
        of_server = (job.graph.kind == COMPUTE) & (job.graph.server == server)
        assert slept_s == pytest.approx(10 * float(job.graph.duration_s[of_server].sum()))


def graph_with_a_wait_elsewhere() -> TaskGraph:
    """Server 1 computes after server 0 has, though nothing is sent to it."""
    rows = [
        TaskRows(COMPUTE, 2, np.array([1.0, 1.0]), server=np.array([0, 1])),
        TaskRows(TRANSFER, 1, src=0, dst=2, size_bytes=1000),
    ]
    return task_graph_from_edges(12, rows, np.array([0]), np.array([1]))


def test_a_wait_for_what_a_server_does_not_hear_of_is_refused() -> None:
    plan, graph = paper_plan("transformer"), graph_with_a_wait_elsewhere()
    with pytest.raises(
        Infeasible, match=r"task 1 other on server 1 waits for task 0 .*server 1 learns nothing"
    ):
        write_scripts(graph, plan.fabric, SCALE, [0.0] * 3)


def test_rings_are_predicted_on_the_routes_that_packets_take() -> None:
    """A ring whose edge lost its link is laid on the detour, which then carries more than any other link."""
    plan = topoopt.plan(
        "dlrm", servers=5, degree=4, accelerators_per_server=1, fabrics=(), budget=0, wirings="strides"
    )
    job = job_of_plan(plan, "allreduce")
    whole = predict_iteration(job.graph, plan.fabric, SCALE)
    nodes = {(a, b): (a, 2, b) if (a, b) == (0, 1) else (a, b) for a in range(5) for b in range(5) if a != b}
    routes = explicit_routes(plan.fabric.topology, (Path(path) for path in nodes.values()))
    detoured = predict_iteration(job.graph, replace(plan.fabric, routes=routes), SCALE)
    each = whole.link_bytes[0, 1]
    assert detoured.link_bytes == pytest.approx(
        {**whole.link_bytes, (0, 1): 0.0, (0, 2): 2 * each, (2, 1): 2 * each}
    )
