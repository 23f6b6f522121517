"""The noun of an answer about testbeds: which there are, were made or are gone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.plugins.testbeds.network import TestbedState


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class TestbedsAnswer:
    """Testbeds of this machine, and what was done with them.

    Attributes
    ----------
    done : str
        ``up``, ``down`` or ``status``.
    checked_pairs : int
        Pairs of servers whose packets were seen to go as the plan says.
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
            "checked_pairs": self.checked_pairs,
            "why": self.why,
            "left_alone": dict(self.left_alone),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "name": state.name,
                "standing": state.standing,
                "servers": state.servers,
                "cables": state.cables,
                "link_bandwidth_bps": state.bandwidth_bps,
                "scale": state.scale,
                "forwarding": state.forwarding,
                "owner": state.owner,
                "namespaces": list(state.namespaces),
                "congestion": list(state.congestion),
            }
            for state in self.testbeds
        ]
