"""Traces that somebody published, by name, with the load and the horizon of the words."""

from collections.abc import Mapping
from typing import Any

from topoopt.cluster import CassiniTraceSettings, ClusterSettings, Trace, cassini_trace_for
from topoopt.errors import InvalidInput
from topoopt.units import parse_time
from topoopt.words import amount

USED = {"poisson": ("load", "horizon")}
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
    given = {
        name: value
        for name, value in (("load", words.get("load")), ("horizon_s", _horizon_s(words)))
        if value is not None
    }
    drawn = CassiniTraceSettings(kind, seed=settings.seed, **given)
    for word in FREE:
        if words.get(word) not in (None, False) and word not in USED.get(kind, ()):
            raise InvalidInput(f"{word}: the trace {kind} says it; leave one of them out")
    return cassini_trace_for(drawn, settings)


def _horizon_s(words: Mapping[str, Any]) -> float | None:
    return amount(parse_time, words["horizon"], "horizon") if "horizon" in words else None
