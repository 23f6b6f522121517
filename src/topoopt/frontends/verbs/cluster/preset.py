"""Traces that somebody published, by name, with the load and the horizon of the words."""

from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import parse_time
from topoopt.clusters import (
    CASSINI_TRACES,
    MIXED,
    CassiniTraceSettings,
    ClusterSettings,
    MixedTraceSettings,
    Trace,
    cassini_trace_for,
    mixed_trace,
)
from topoopt.schema.words import amount

USED = {"poisson": ("load", "horizon"), MIXED: ("load", "horizon", "jobs")}
"""Words that a preset takes; the others take none."""
FREE = ("jobs", "at_once", "load", "horizon", "mix", "servers_per_job", "durations", "mean_duration")


def preset_trace(words: Mapping[str, Any], settings: ClusterSettings) -> Trace:
    """Return the trace of a preset.

    Raises
    ------
    InvalidInput
        For an unknown preset, and words that it does not take.
    """
    kind = words["trace_preset"]
    check_known("trace_preset", kind, (MIXED, *CASSINI_TRACES))
    said = {"load": words.get("load"), "horizon_s": _horizon_s(words)}
    given = {name: value for name, value in said.items() if value is not None}
    for word in FREE:
        if words.get(word) not in (None, False) and word not in USED.get(kind, ()):
            raise InvalidInput(f"{word}: the trace {kind} says it; leave one of them out")
    if kind == MIXED:
        return mixed_trace(_mixed(words, settings.seed, given), settings.logical.servers)
    return cassini_trace_for(CassiniTraceSettings(kind, seed=settings.seed, **given), settings)


def _mixed(words: Mapping[str, Any], seed: int, given: Mapping[str, float]) -> MixedTraceSettings:
    jobs = words.get("jobs")
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected an integer >= 1, got {jobs}")
    if jobs is not None and "horizon_s" in given:
        raise InvalidInput("horizon: with jobs, jobs come until there are so many; leave one of them out")
    return MixedTraceSettings(jobs=jobs or 0, seed=seed, **given)


def _horizon_s(words: Mapping[str, Any]) -> float | None:
    return amount(parse_time, words["horizon"], "horizon") if "horizon" in words else None
