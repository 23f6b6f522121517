"""The noun Choice: what to buy for a mix of jobs, the front that it is taken from, and what would change it."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.pricing import Ownership, beside
from topoopt.studies.choice.decision import Decision, Limits
from topoopt.studies.choice.evaluated import DROPPED, LEFT_OUT, PLANNED, Evaluated
from topoopt.studies.choice.mix import Mix
from topoopt.studies.choice.money import OTHERS
from topoopt.studies.choice.network import Network
from topoopt.studies.choice.pricing import Owner
from topoopt.studies.choice.sensitivity import Turn
from topoopt.studies.choice.trained_job import TrainedJob

COLUMNS = (
    *("network", "fabric", "degree", "bandwidth_bps", "link_technology", "status", "on_front", "chosen"),
    *("network_usd", *(f"{name}_usd" for name in OTHERS), "total_usd"),
    *("relative_time", "relative_time_at_least", "usd_per_year_of_work"),
)
"""Of a table of all networks; behind them an iteration time for each job, and the reason."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What to buy.

    Attributes
    ----------
    jobs : tuple of TrainedJob
        The mix, on the network that is taken.
    machines : str
        The servers, in words.
    owner : Owner
        How networks are priced, and the cluster is run.
    points : tuple of Evaluated
        Every network of the grid.
    front : tuple of Evaluated
        Those that no other beats in money and time, by money.
    turns : tuple of Turn
        What would change the decision.
    reference : Network
        On which the work of one year takes a year.
    plans : int
        Plans that were made, or found in the store: one for each job on each network that was planned.
    """

    jobs: tuple[TrainedJob, ...]
    machines: str
    owner: Owner
    points: tuple[Evaluated, ...]
    front: tuple[Evaluated, ...]
    limits: Limits
    decision: Decision
    turns: tuple[Turn, ...]
    reference: Network
    plans: int

    @property
    def mix(self) -> Mix:
        """The jobs with their shares of the year."""
        return tuple(each.job for each in self.jobs)

    @property
    def with_servers(self) -> bool:
        """Whether money is that of the cluster and of running it, or of the network alone."""
        return self.owner.with_servers

    def against(self, other: Evaluated) -> Ownership | None:
        """Return what another network saves of the network and loses of the servers, for the same work.

        None where servers are not counted, or one of the two has no price.
        """
        own = self.decision.point
        times = own.relative_time(self.mix), other.relative_time(self.mix)
        if not self.with_servers or None in (own.money, other.money, *times):
            return None
        assert own.money is not None
        assert other.money is not None
        assert times[0] is not None
        assert times[1] is not None
        return beside(self.owner.owned(own.money), times[0], self.owner.owned(other.money), times[1])

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
            "servers": self.owner.servers,
            "machines": self.machines,
            "jobs": [job.to_json() for job in self.jobs],
            "settings": self.owner.facts(),
            "budget_usd": self.limits.budget_usd,
            "deadline_years": self.limits.deadline_years,
            "reference": self.reference.name,
            "choice": self._row(self.decision.point, True),
            "decision": self._decision(),
            "front": [point.network.name for point in self.front],
            "what_would_change_it": [turn.to_json() for turn in self.turns],
            "networks": self.rows(),
            "planned": self.count(PLANNED),
            "dropped": self.count(DROPPED),
            "left_out": self.count(LEFT_OUT),
            "plans": self.plans,
        }

    def _decision(self) -> dict[str, Any]:
        """Return the decision with its neighbors on the front, and what each saves and loses."""
        rows = {"next_cheaper": self.decision.cheaper, "next_dearer": self.decision.dearer}
        return {
            "rule": self.decision.rule,
            "network": self.decision.point.network.name,
            **{key: None if row is None else self._beside(row) for key, row in rows.items()},
        }

    def _beside(self, other: Evaluated) -> dict[str, Any]:
        more_usd_share, more_time_share = self.decision.shares(other, self.mix)
        found = self.against(other)
        return {
            "network": other.network.name,
            "more_usd_share": more_usd_share,
            "more_time_share": more_time_share,
            "network_saved_usd": None if found is None else found.network_saved_usd,
            "servers_lost_usd": None if found is None else found.servers_lost_usd,
            "net_usd": None if found is None else found.net_usd,
        }

    def _row(self, point: Evaluated, on_front: bool) -> dict[str, Any]:
        return {
            **point.to_json(self.mix),
            "on_front": on_front,
            "chosen": point is self.decision.point,
        }
