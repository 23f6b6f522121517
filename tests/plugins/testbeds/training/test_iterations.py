"""Ranks run scripts: what waits, waits; what is slept lasts; sums are right."""

import time

import pytest

from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds.training.ranks import Ranks, load_scripts, one_iteration, run_iterations
from topoopt.plugins.testbeds.training.script import (
    Compute,
    Exchange,
    Receive,
    Reduce,
    Send,
    ServerScript,
    Step,
)

RINGS = ((0, 1, 2, 3, 4), (0, 2, 4, 1, 3))
SLEPT_S = 0.15


def relay() -> list[ServerScript]:
    """Server 0 computes and sends to 1, which computes and sends to 2, and so on; then all reduce and exchange."""
    scripts = []
    for server in range(5):
        come = [Step(Receive(server - 1, 1000, server - 1), 0, (1,))] if server else []
        first = len(come)
        steps = [
            *come,
            Step(Compute(0, SLEPT_S), first, (first + 1,)),
            *([Step(Send(server + 1, 1000, server), 1, (first + 2,))] if server < 4 else []),
        ]
        steps += [
            Step(Reduce("allreduce", RINGS, 10_000), 1, (len(steps) + 1,)),
            Step(Exchange((0, 1, 2, 3, 4), 100, 99), 1, ()),
        ]
        scripts.append(ServerScript(tuple(steps), ((len(steps) - 2,),)))
    return scripts


def test_steps_wait_for_each_other_across_servers(ranks: Ranks) -> None:
    done = run_iterations(ranks, relay(), 5 * SLEPT_S, measured=3)
    assert len(done.measured_s) == 3
    assert min(done.measured_s) >= 5 * SLEPT_S  # one after the other
    assert done.median_s < 10 * SLEPT_S  # and nothing else takes long


def test_delays_and_accelerators(ranks: Ranks) -> None:
    """Two steps on one accelerator follow each other, one on another does not wait; a delay is no computing."""
    steps = (
        Step(Compute(0, SLEPT_S), 0, ()),
        Step(Compute(0, SLEPT_S), 0, ()),
        Step(Compute(1, SLEPT_S), 0, (), delay_s=SLEPT_S / 2),
    )
    load_scripts(ranks, [ServerScript(steps, ())] * 5)
    taken_s = one_iteration(ranks, SLEPT_S)
    assert taken_s == pytest.approx(2 * SLEPT_S, abs=1e-6)  # it counts from when it should have begun


def test_what_happens_meanwhile_does_not_stop_it(ranks: Ranks) -> None:
    load_scripts(ranks, [ServerScript((Step(Compute(0, SLEPT_S), 0, ()),), ())] * 5)
    begun: list[float] = []
    one_iteration(ranks, SLEPT_S, begun.append)
    assert begun[0] <= time.monotonic() - SLEPT_S


def test_a_member_that_fails_is_named(ranks: Ranks) -> None:
    with pytest.raises(Infeasible, match=r"testbed: server \d: KeyError: 'no such program'"):
        ranks.run("no such program", 5.0)
