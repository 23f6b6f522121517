"""Testbeds that stand: put up to stay, listed, and taken down."""

from collections.abc import Callable

from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds.answer import TestbedsAnswer
from topoopt.plugins.testbeds.emulated import Emulated
from topoopt.plugins.testbeds.network import (
    Testbed,
    build,
    check_capacity,
    check_machine,
    check_speed,
    find_state,
    known_states,
    remove,
)

Progress = Callable[[str, int, int], None]


def put_up(fabric: Emulated, name: str, scale: float, on_progress: Progress) -> TestbedsAnswer:
    """Make a testbed that stays, and check that packets of every pair go as the plan says.

    Raises
    ------
    InvalidInput
        If this machine cannot have it, or the name is taken.
    """
    check_speed(fabric.layout, scale)
    check_machine()
    on_progress("measuring this machine", 0, 0)
    check_capacity(fabric.layout, scale)
    on_progress(f"building {fabric.layout.servers} servers", 0, 0)
    with build(fabric.layout, name, scale, kept=True) as testbed:
        on_progress("following packets of all pairs", 0, 0)
        checked = check_paths(testbed, fabric)
        return TestbedsAnswer("up", (testbed.state,), checked, fabric.layout.why)


def check_paths(testbed: Testbed, fabric: Emulated) -> int:
    """Return how many pairs of servers there are, each with the path that the plan says, by the kernels' own word.

    Raises
    ------
    Infeasible
        If one goes another way.
    """
    walked = testbed.paths()
    for (src, dst), nodes in walked.items():
        expected = fabric.fabric.routes.paths(src, dst)[0].nodes
        if fabric.layout.switch:
            expected = (src, fabric.layout.servers, dst)
        if nodes != expected:
            raise Infeasible(f"testbed: packets {src}->{dst} go by {nodes}, the plan says {expected}")
    return len(walked)


def take_down(name: str | None) -> TestbedsAnswer:
    """Remove all testbeds of a name, whoever uses them, or all that no run needs.

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if name is not None:
        states = tuple(state for state in known_states() if state.is_of(name)) or (find_state(name),)
        for state in states:
            remove(state)
        return TestbedsAnswer("down", states)
    removed, left = [], {}
    for state in known_states():
        if state.in_use:
            left[state.name] = f"process {state.owner} runs on it"
        else:
            remove(state)
            removed.append(state)
    return TestbedsAnswer("down", tuple(removed), left_alone=left)


def listed() -> TestbedsAnswer:
    """Return the testbeds of this machine."""
    return TestbedsAnswer("status", known_states())
