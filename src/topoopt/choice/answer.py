"""The noun Choice: what to buy for a mix of jobs, the front that it is taken from, and what would change it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topoopt.choice.decision import Decision, Limits
from topoopt.choice.evaluated import DROPPED, LEFT_OUT, PLANNED, Evaluated
from topoopt.choice.mix import Mix
from topoopt.choice.network import Network
from topoopt.choice.sensitivity import Turn
from topoopt.door import shows_itself
from topoopt.frame import Frame, frame

COLUMNS = (
    *("network", "fabric", "degree", "bandwidth_bps", "link_technology", "status", "on_front", "chosen"),
    *("network_usd", "servers_usd", "electricity_usd", "total_usd"),
    *("relative_time", "relative_time_at_least", "usd_per_year_of_work"),
)
"""Of a table of all networks; behind them an iteration time for each job, and the reason."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What to buy.

    Attributes
    ----------
    mix : tuple of JobShare
    servers : int
    machines : str
        What a server has, in words.
    settings : mapping
        What money and times rest on: years, price list, electricity …, as facts.
    points : tuple of Evaluated
        Every network of the grid.
    front : tuple of Evaluated
        Those that no other beats in money and time, by money.
    decision : Decision
    turns : tuple of Turn
        What would change it.
    reference : Network
        On which the work of one year takes a year; ``reference_times_s`` are its iteration times.
    plans : int
        Plans that were made, or found in the store: one for each job on each network that was planned.
    with_servers : bool
        Whether money is that of servers, network and electricity, or of the network alone.
    warnings : tuple of str
    """

    mix: Mix
    servers: int
    machines: str
    settings: Mapping[str, Any]
    points: tuple[Evaluated, ...]
    front: tuple[Evaluated, ...]
    limits: Limits
    decision: Decision
    turns: tuple[Turn, ...]
    reference: Network
    reference_times_s: tuple[float, ...]
    plans: int
    with_servers: bool
    warnings: tuple[str, ...] = ()

    def count(self, status: str) -> int:
        """Return how many networks were planned, dropped or left out."""
        return sum(point.status == status for point in self.points)

    def rows(self) -> list[dict[str, Any]]:
        """Return every network as a mapping of plain values, those of the front first, by money."""
        on_front = set(map(id, self.front))
        others = [point for point in self.points if id(point) not in on_front]
        return [self._row(point, id(point) in on_front) for point in (*self.front, *others)]

    def table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """Return columns and rows as a CSV or Parquet file has them."""
        times = [f"iteration_time_s:{job.name}" for job in self.mix]
        rows = []
        for row in self.rows():
            each = row["iteration_times_s"]
            rows.append(
                [*(row[name] for name in COLUMNS), *(each.get(job.name) for job in self.mix), row["reason"]]
            )
        return (*COLUMNS, *times, "reason"), rows

    def to_frame(self) -> Frame:
        """Return a row for each network, as pandas has it."""
        columns, rows = self.table()
        return frame(dict(zip(columns, row, strict=True)) for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        return {
            "servers": self.servers,
            "machines": self.machines,
            "jobs": [
                {"job": job.name, "share": job.share, "servers": job.servers or self.servers}
                for job in self.mix
            ],
            "settings": dict(self.settings),
            "budget_usd": self.limits.budget_usd,
            "deadline_years": self.limits.deadline_years,
            "reference": {
                "network": self.reference.name,
                "iteration_times_s": dict(
                    zip((job.name for job in self.mix), self.reference_times_s, strict=True)
                ),
            },
            "choice": self._row(self.decision.point, True),
            "decision": self.decision.to_json(self.mix),
            "front": [point.network.name for point in self.front],
            "what_would_change_it": [turn.to_json() for turn in self.turns],
            "networks": self.rows(),
            "planned": self.count(PLANNED),
            "dropped": self.count(DROPPED),
            "left_out": self.count(LEFT_OUT),
            "plans": self.plans,
            "warnings": list(self.warnings),
        }

    def _row(self, point: Evaluated, on_front: bool) -> dict[str, Any]:
        return {
            **point.to_json(self.mix),
            "on_front": on_front,
            "chosen": point is self.decision.point,
        }
