"""How a scheduler runs a cluster: who decides, how often, who shifts jobs, and how links are shared."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.clusters.interleave import MERGING, SHARINGS
from topoopt.clusters.schedulers.table import SCHEDULERS

EPOCH_S = 600.0
"""Themis' epoch in CASSINI's evaluation."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """How the workers of a cluster are given out.

    Attributes
    ----------
    scheduler : str
        Name in :data:`SCHEDULERS`.
    cassini : bool
        Whether the placement is chosen by compatibility among candidates, and jobs are shifted in time.
    merging : str
        Name in :data:`topoopt.clusters.interleave.MERGING`: which links count as one in CASSINI's affinity graph.
    sharing : str
        Name in :data:`topoopt.clusters.interleave.SHARINGS`: how jobs share a link.
    epoch_s : float
        After which leases are over.
    restart_s : float
        For which a job stands still when its workers change; the papers name none.
    jitter : float
        Standard deviation of each stretch of computing, as a part of its length.
    noise_scale : float
        Gradient noise scale of Pollux's statistical efficiency, over the batch that a job asks for. It changes over a
        training and is not published for these models: ours.
    weighting : str
        Name in :data:`topoopt.clusters.WEIGHTINGS`.
    staggered : bool
        Jobs that get their first workers begin at a random time within an iteration; else at once. Nobody begins to the
        microsecond with another job, and MLTCP would never tell such jobs apart.
    seed : int
        Of all chance.

    Raises
    ------
    InvalidInput
        If a value is outside what is allowed, or the two do not go together.
    """

    scheduler: str
    cassini: bool = False
    merging: str = "identical"
    sharing: str = "fair"
    epoch_s: float = EPOCH_S
    restart_s: float = 0.0
    jitter: float = 0.0
    noise_scale: float = 1.0
    weighting: str = "jobs"
    staggered: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_known("scheduler", self.scheduler, SCHEDULERS)
        check_known("merging", self.merging, MERGING)
        check_known("sharing", self.sharing, SHARINGS)
        if self.cassini and SCHEDULERS[self.scheduler].dedicated:
            raise InvalidInput(
                f"cassini: with scheduler {self.scheduler} no job shares a link; "
                "take themis, pollux, proximity or random"
            )
        for name, least in (
            ("epoch_s", True),
            ("noise_scale", True),
            ("restart_s", False),
            ("jitter", False),
        ):
            value = getattr(self, name)
            if not 0 <= value < float("inf") or (least and not value):
                raise InvalidInput(f"{name}: expected a number {'>' if least else '>='} 0, got {value:g}")

    @property
    def name(self) -> str:
        """Scheduler and what it is joined with: ``themis+cassini``, ``themis+mltcp``."""
        parts = [self.scheduler, *["cassini"] * self.cassini, *[self.sharing] * (self.sharing != "fair")]
        return "+".join(parts)

    def described(self) -> Mapping[str, Any]:
        """Return what a result says about how it was made."""
        return asdict(self)
