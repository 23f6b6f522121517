"""Communication profile of CASSINI: the bandwidth that a job uses over one iteration."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.units import format_time
from topoopt.schema.files import (
    Name,
    Strict,
    parse_json,
    parse_yaml,
    read_text,
    validated,
    with_line,
    write_atomically,
)

SLACK = 1e-9
"""Tolerated overlap of phases, as a share of an iteration: handwritten times are rounded."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of an iteration in which a job sends at one rate.

    Attributes
    ----------
    start_s : float
        Offset from the start of the iteration.
    duration_s : float
        Duration without contention; it may wrap into the next iteration.
    bandwidth_bps : float
        Rate on the link in question.
    """

    start_s: float
    duration_s: float
    bandwidth_bps: float

    @property
    def end_s(self) -> float:
        """End of the phase, beyond the iteration where it wraps."""
        return self.start_s + self.duration_s

    @property
    def size_bytes(self) -> float:
        """Bytes sent in the phase."""
        return self.duration_s * self.bandwidth_bps / 8


@dataclass(frozen=True, slots=True)
class CommunicationProfile:
    """Bandwidth that a job uses on a link over one iteration, without contention.

    Attributes
    ----------
    iteration_time_s : float
        Duration of one iteration of the job alone.
    phases : tuple of Phase
        Phases in order of their starts; between them the job sends nothing.

    Raises
    ------
    InvalidInput
        For times and rates that cannot be, and phases that overlap.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 2.

    Examples
    --------
    >>> profile = CommunicationProfile("vgg16", 0.255, (Phase(0.141, 0.114, 45e9),))
    >>> round(profile.duty, 3), round(profile.size_bytes / 1e6)
    (0.447, 641)
    """

    job: str
    iteration_time_s: float
    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        here = f"job {self.job}"
        if not 0 < self.iteration_time_s < math.inf:
            raise InvalidInput(
                f"{here}: iteration time {self.iteration_time_s:g} s: expected a finite time > 0"
            )
        for phase in self.phases:
            _check_phase(here, phase, self.iteration_time_s)
        ordered = tuple(sorted(self.phases, key=lambda phase: phase.start_s))
        object.__setattr__(self, "phases", ordered)
        _check_apart(here, ordered, self.iteration_time_s)

    @property
    def duty(self) -> float:
        """The part of an iteration in which it sends."""
        return math.fsum(phase.duration_s for phase in self.phases) / self.iteration_time_s

    @property
    def size_bytes(self) -> float:
        """Bytes sent in one iteration."""
        return math.fsum(phase.size_bytes for phase in self.phases)

    @property
    def peak_bps(self) -> float:
        """Highest rate of the profile."""
        return max((phase.bandwidth_bps for phase in self.phases), default=0.0)

    def demand_bps(self, times_s: Floats) -> Floats:
        """Return the rate at some times.

        Parameters
        ----------
        times_s : array of float
            Times of any shape and sign; the profile repeats indefinitely.

        Returns
        -------
        array of float
            Rates in bits/s, of the same shape. A phase includes its start and excludes its end.

        Examples
        --------
        >>> import numpy as np
        >>> CommunicationProfile("a", 0.04, (Phase(0.03, 0.02, 1e9),)).demand_bps(np.array([0, 0.005, 0.01, 0.03]))
        array([1.e+09, 1.e+09, 0.e+00, 1.e+09])
        """
        period_s = self.iteration_time_s
        rate = np.zeros(np.shape(times_s))
        for phase in self.phases:
            into = np.mod(np.asarray(times_s) - phase.start_s, period_s)
            # A time that rounding puts just before a start is at the start.
            into = np.where(into > period_s * (1 - 1e-12), 0.0, into)
            rate = np.where(into < phase.duration_s * (1 - 1e-12), phase.bandwidth_bps, rate)
        return rate


def _check_phase(here: str, phase: Phase, period_s: float) -> None:
    at = f"{here}: phase at {format_time(phase.start_s) if phase.start_s >= 0 else f'{phase.start_s:g} s'}"
    if not 0 <= phase.start_s < period_s:
        raise InvalidInput(
            f"{at}: has to start within the iteration, 0 <= start < {format_time(period_s)}; "
            "take the start modulo the iteration time"
        )
    if not 0 < phase.duration_s < math.inf:
        raise InvalidInput(f"{at}: duration {phase.duration_s:g} s: expected a finite time > 0")
    if phase.duration_s > period_s * (1 + SLACK):
        raise InvalidInput(
            f"{at}: lasts {format_time(phase.duration_s)}, longer than the iteration of {format_time(period_s)}; "
            "give a longer iteration time or a shorter phase"
        )
    if not 0 <= phase.bandwidth_bps < math.inf:
        raise InvalidInput(f"{at}: bandwidth {phase.bandwidth_bps:g} b/s: expected a finite rate >= 0")


def _check_apart(here: str, phases: tuple[Phase, ...], period_s: float) -> None:
    """Refuse phases that overlap, including across the end of the iteration."""
    for before, after in zip(phases, (*phases[1:], *phases[:1]), strict=True):
        begins_s = after.start_s + (period_s if after is phases[0] else 0.0)
        if before.end_s > begins_s + SLACK * period_s:
            raise InvalidInput(
                f"{here}: phase at {format_time(before.start_s)} ends after {format_time(before.end_s)}, when the one "
                f"at {format_time(after.start_s)} is on; make phases that do not overlap, with the sum of their rates"
            )


MS_PER_S, BPS_PER_GBPS = 1e3, 1e9


def _three_numbers(value: object) -> object:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError(
            f"expected a phase [start_ms, duration_ms, gbps], such as [141, 114, 45], got {shown(value)}"
        )
    return value


PhaseRow = Annotated[
    list[float],
    BeforeValidator(_three_numbers),
    Field(min_length=3, max_length=3, description="[start_ms, duration_ms, gbps]"),
]


class ProfileFile(Strict):
    """Communication profile of a job in a file; see ``examples/vgg16-job.yaml``."""

    model_config = ConfigDict(title="A job that shares links: what it sends in one iteration")

    name: Name = Field(description="Of the job.")
    iteration_time_ms: float = Field(description="Of one iteration where nobody else sends, in milliseconds.")
    phases: list[PhaseRow] = Field(
        description="When it sends: start, duration (both in milliseconds) and rate in Gb/s. A phase may wrap into "
        "the next iteration; none overlaps another."
    )


def read_profile(path: str | Path) -> CommunicationProfile:
    """Return the profile of a job file, YAML or JSON.

    Raises
    ------
    InvalidInput
        In one line with file, line and key, or file and job, if it is no job file, or cannot be a profile.
    """
    text, place = read_text(path), str(path)
    # YAML may begin with a brace, too
    is_yaml = Path(path).suffix in (".yaml", ".yml") or not text.lstrip().startswith("{")
    parse = parse_yaml if is_yaml else parse_json
    content = parse(text, place)
    try:
        file = validated(ProfileFile, content, place)
    except InvalidInput as error:
        raise InvalidInput(with_line(str(error), text, place)) from None
    try:
        phases = tuple(
            Phase(start_ms / MS_PER_S, duration_ms / MS_PER_S, gbps * BPS_PER_GBPS)
            for start_ms, duration_ms, gbps in file.phases
        )
        return CommunicationProfile(file.name, file.iteration_time_ms / MS_PER_S, phases)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def write_profile(path: str | Path, profile: CommunicationProfile) -> None:
    """Write a job file that :func:`read_profile` reads as the same profile, whole or not at all."""
    mapping = profile_to_mapping(profile)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in mapping["phases"])
    phases = f"[\n{rows}\n ]" if rows else "[]"
    write_atomically(
        path,
        f'{{\n "name": {json.dumps(mapping["name"])},\n "iteration_time_ms": {mapping["iteration_time_ms"]!r},\n'
        f' "phases": {phases}\n}}\n',
    )


def profile_to_mapping(profile: CommunicationProfile) -> dict[str, Any]:
    """Return a profile as the mapping for a job file.

    Examples
    --------
    >>> profile_to_mapping(CommunicationProfile("vgg16", 0.255, (Phase(0.141, 0.114, 45e9),)))
    {'name': 'vgg16', 'iteration_time_ms': 255.0, 'phases': [[141.0, 114.0, 45.0]]}
    """
    return {
        "name": profile.job,
        "iteration_time_ms": _times(profile.iteration_time_s, MS_PER_S),
        "phases": [
            [
                _times(phase.start_s, MS_PER_S),
                _times(phase.duration_s, MS_PER_S),
                _over(phase.bandwidth_bps, BPS_PER_GBPS),
            ]
            for phase in profile.phases
        ],
    }


def _times(value: float, factor: float) -> float:
    """Return the shortest number that, divided by the factor, is the value again."""
    return _shortest(value * factor, lambda written: written / factor == value)


def _over(value: float, divisor: float) -> float:
    """Return the shortest number that, times the divisor, is the value again."""
    return _shortest(value / divisor, lambda written: written * divisor == value)


def _shortest(near: float, is_exact: Callable[[float], bool]) -> float:
    """Return the number of fewest digits, from 12 on, that is exact; the nearest where none is."""
    candidates = (float(f"{near:.{digits}g}") for digits in range(12, 18))
    return next((written for written in candidates if is_exact(written)), near)
