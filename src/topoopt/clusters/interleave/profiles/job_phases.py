"""JobPhases: communication phases of a job on its links in one iteration, and their source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.clusters.interleave.profiles.measured_profile import MeasuredProfile
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class JobPhases:
    """Communication phases of a job in one iteration, on one link or several.

    Attributes
    ----------
    profiles : mapping from links to profiles
        Links as ``0-1`` or by the names of counters; a job file has one without a name. The busiest first.
    source : str
        ``job file``, ``counters``, or the simulator.
    path : str
        The file, or a description of the source.
    measured : mapping from links to MeasuredProfile
        Profiles measured from counters.
    """

    profiles: Mapping[str, CommunicationProfile]
    source: str
    path: str
    measured: Mapping[str, MeasuredProfile]

    @property
    def link(self) -> str:
        """The busiest of the links."""
        return next(iter(self.profiles))

    @property
    def profile(self) -> CommunicationProfile:
        """Profile on that link."""
        return self.profiles[self.link]

    def to_json(self) -> dict[str, Any]:
        """Return the profile of the busiest link, and of every other."""
        profile = self.profile
        return {
            "job": profile.job,
            "file": self.path,
            "source": self.source,
            "iteration_time_s": profile.iteration_time_s,
            **_of_link(self.link, profile, self.measured.get(self.link)),
            "other_links": [
                _of_link(link, other, self.measured.get(link))
                for link, other in self.profiles.items()
                if link != self.link
            ],
        }

    def to_frame(self) -> Frame:
        """Return a row for each phase of each link, as pandas has it."""
        rows = []
        for link, profile in self.profiles.items():
            rows += [{"link": link, **row} for row in _phases(profile)]
        return frame(rows)


def _of_link(link: str, profile: CommunicationProfile, measured: MeasuredProfile | None) -> dict[str, Any]:
    return {
        "link": link or None,
        **fields_of(profile, "duty", "size_bytes", "peak_bps"),
        "phases": _phases(profile),
        "measured": None if measured is None else measured.to_json(),
    }


def _phases(profile: CommunicationProfile) -> list[dict[str, float]]:
    return [{**asdict(phase), "size_bytes": phase.size_bytes} for phase in profile.phases]
