"""Persistent testbeds: created, listed, and removed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself
from topoopt.base.errors import Infeasible, TopoOptError
from topoopt.plugins.testbeds.emulated_fabrics import Emulated
from topoopt.plugins.testbeds.network import (
    Testbed,
    TestbedState,
    build,
    capable_scale,
    check_machine,
    check_speed,
    find_state,
    known_states,
    remove,
)


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class TestbedsAnswer:
    """Testbeds of this host, and the actions on them.

    Attributes
    ----------
    done : str
        ``up``, ``down`` or ``status``.
    checked_pairs : int
        Pairs of servers whose packets were seen to take the plan's paths.
    left_alone : mapping from names to reasons
        Testbeds that were not removed.
    """

    __test__ = False

    done: str
    testbeds: tuple[TestbedState, ...]
    checked_pairs: int = 0
    why: str = ""
    left_alone: Mapping[str, str] = field(default_factory=dict)

    def to_frame(self) -> Frame:
        """Return a row for each testbed; needs pandas."""
        return frame(
            {key: value for key, value in row.items() if not isinstance(value, list)} for row in self._rows()
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt testbed up|down|status``."""
        return {
            "done": self.done,
            "testbeds": self._rows(),
            **fields_of(self, "checked_pairs", "why"),
            "left_alone": dict(self.left_alone),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                **fields_of(state, "name", "standing", "servers", "cables"),
                "link_bandwidth_bps": state.bandwidth_bps,
                **fields_of(state, "scale", "forwarding", "owner"),
                "namespaces": list(state.namespaces),
                "congestion": list(state.congestion),
            }
            for state in self.testbeds
        ]


def put_up(fabric: Emulated, name: str, scale: float, given: bool, on_progress: Progress) -> TestbedsAnswer:
    """Create a persistent testbed, and check that packets of every pair take the plan's paths.

    Where the scale is not given, it may become larger.

    Raises
    ------
    InvalidInput
        If this machine cannot have it, or the name is taken.
    """
    check_speed(fabric.layout, scale)
    check_machine()
    on_progress("measuring this machine", 0, 0)
    scale = capable_scale(fabric.layout, scale, given)
    on_progress(f"building {fabric.layout.servers} servers, scale {scale:g}", 0, 0)
    with build(fabric.layout, name, scale, kept=True) as testbed:
        on_progress("following packets of all pairs", 0, 0)
        checked = check_paths(testbed, fabric)
        return TestbedsAnswer("up", (testbed.state,), checked, fabric.layout.why)


def check_paths(testbed: Testbed, fabric: Emulated) -> int:
    """Check that all pairs of servers use the plan's paths, by the kernels' own tables; return the number of pairs.

    Raises
    ------
    Infeasible
        If a packet takes another path.
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
    """Remove all testbeds with a name, even if in use, or all that no run needs.

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
            continue
        try:
            remove(state)
            removed.append(state)
        except (TopoOptError, OSError) as error:  # the others are removed all the same
            left[state.name] = str(error)
    return TestbedsAnswer("down", tuple(removed), left_alone=left)


def listed() -> TestbedsAnswer:
    """Return the testbeds on this host."""
    return TestbedsAnswer("status", known_states())
