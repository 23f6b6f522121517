"""The job file: name, iteration time and phases of a job, as people write them in milliseconds and Gb/s."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from topoopt.base.errors import InvalidInput, shown
from topoopt.clusters.interleave.profile import CommunicationProfile, Phase
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
    """What a job sends in one iteration, and when; see ``examples/vgg16-job.yaml``."""

    model_config = ConfigDict(title="A job that shares links: what it sends in one iteration")

    name: Name = Field(description="Of the job.")
    iteration_time_ms: float = Field(description="Of one iteration where nobody else sends, in milliseconds.")
    phases: list[PhaseRow] = Field(
        description="When it sends: start, duration (both in milliseconds) and rate in Gb/s. A phase may wrap into "
        "the next iteration; none overlaps another."
    )


def profile_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file."""
    return ProfileFile.model_json_schema()


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
        return _noun(file)
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
    """Return what a job file says of a profile.

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


def _noun(file: ProfileFile) -> CommunicationProfile:
    phases = tuple(
        Phase(start_ms / MS_PER_S, duration_ms / MS_PER_S, gbps * BPS_PER_GBPS)
        for start_ms, duration_ms, gbps in file.phases
    )
    return CommunicationProfile(file.name, file.iteration_time_ms / MS_PER_S, phases)


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
