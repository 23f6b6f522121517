"""The nouns of a sweep that has run, or would: how many points there are, and where they lie."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import shows_itself
from topoopt.studies.sweep.file import Sweep
from topoopt.studies.sweep.run import SweepRun


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class SweepAnswer:
    """A sweep that has run; ``out`` is the results file."""

    sweep: Sweep
    out: str
    run: SweepRun

    def to_json(self) -> dict[str, Any]:
        """Return how many points there are, by what became of them."""
        status = self.run.by_status
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            "points": self.run.points,
            "found": self.run.found,
            "computed": self.run.computed,
            **{name: status.get(name, 0) for name in ("ok", "infeasible", "failed")},
            "others": self.run.others,
        }


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class SweepPreview:
    """What a sweep would compute; ``finished`` points are in the results file ``out`` already."""

    sweep: Sweep
    out: str
    finished: int

    def to_json(self) -> dict[str, Any]:
        """Return how many points there are, and of which values."""
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            "points": len(self.sweep.points),
            "finished": self.finished,
            "to_compute": len(self.sweep.points) - self.finished,
            "axes": {name: list(values) for name, values in self.sweep.axes.items()},
        }
