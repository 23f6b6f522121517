"""Exclusions of a search: published configurations, with the rule and the option that includes each; and schedules."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_memory, format_time
from topoopt.catalog import accelerators, find_accelerator
from topoopt.jobs import layout_name
from topoopt.schema.words import as_flag
from topoopt.transformers.configuration import Configuration, recomputation_bits
from topoopt.transformers.configuration_check import check_configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.search.choices import Limits
from topoopt.transformers.search.published_practice import (
    MOST,
    MOST_SCALED,
    NEAR_SEQUENCES,
    OTHER_ARCHITECTURE,
    Publication,
    configuration_of,
    distance,
    kind_of,
    publications,
    times_apart,
    words_of,
)
from topoopt.transformers.search.ranking import MORE, search_configurations
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.search.result import ConfigurationSearch, NotSearched

_SEARCHED = (
    *("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch"),
    *("zero", "recompute", "sequence_parallel"),
)
WORTH_NAMING = 0.03
"""Fraction of the iteration time that a schedule which is not searched must save to be named."""
_SCHEDULES = ("schedule", "overlap_experts")
_USUAL = {column.name: column.default for column in fields(Configuration)}
Reason = tuple[str, str, dict[str, Any]]
"""A cause in a word, a line that explains it, and the options to set."""


@dataclass(slots=True)
class _Reasons:
    """A published configuration adapted to the job, the adapted job, and the obstacles."""

    request: SearchRequest
    because: dict[str, str]
    give: dict[str, Any]


def left_out(request: SearchRequest) -> tuple[NotSearched, ...]:
    """Return the nearest published configurations of this model that are not searched, at most :data:`MOST`.

    Configurations for accelerators of another architecture are excluded.
    """
    rows = [row for row in publications() if row.model.name == request.model.name]
    rows = sorted(
        (row for row in rows if kind_of(request, row) < OTHER_ARCHITECTURE),
        key=lambda row: (
            times_apart(request.sequence, row.sequence) > NEAR_SEQUENCES,
            *distance(request, row),
        ),
    )
    found: dict[str, NotSearched] = {}
    for row in rows:
        reasons = _Reasons(request, {}, {})
        _near(reasons, row)
        one = _valid(reasons, row)
        for cause, line, give in not_chosen(reasons.request, one):
            reasons.because[cause] = f"{reasons.because[cause]}; {line}" if cause in reasons.because else line
            reasons.give |= give
        _fitting(reasons, one, row)
        name = layout_name(words_of(one))
        if name not in found:
            origin = (row.source, row.model.name, row.accelerator, row.accelerators, row.words["precision"])
            found[name] = NotSearched(name, *origin, reasons.because, reasons.give)
    return tuple(one for one in list(found.values())[:MOST] if one.because)


def untried_schedule(search: ConfigurationSearch) -> dict[str, Any]:
    """Return the fastest configuration with a schedule that was not searched: its ``untried`` name and its seconds.

    Nothing where all schedules were searched, or none is faster by :data:`WORTH_NAMING`.
    """
    request = search.request
    if request.limits.any_schedule or not set(_SCHEDULES).isdisjoint(request.fixed):
        return {}
    limits = replace(request.limits, any_schedule=True)
    other = search_configurations(replace(request, limits=limits), search.calibration)
    place, known_s = int(other.times.iteration_time_s.argmin()), float(search.times.iteration_time_s.min())
    time_s, one = float(other.times.iteration_time_s[place]), other.table.row(place)
    if time_s > (1 - WORTH_NAMING) * known_s:
        return {}
    name = layout_name(words_of(one)) + (", experts overlapped" if one.overlap_experts else "")
    return {"untried": name, "untried_time_s": time_s}


def untried_words(untried: str, untried_time_s: float, time_s: float) -> str:
    """Return how fast the schedule is that was not tried, beside the fastest that was."""
    if not untried:
        return ""
    gain = untried_time_s / time_s - 1
    return f"{untried}: {format_time(untried_time_s)} in closed form, {gain:.0%}; try it with {as_flag('any_schedule')}"


def _near(reasons: _Reasons, row: Publication) -> None:
    """Record the numbers of a publication that is too far from the request."""
    request = reasons.request
    if times_apart(request.accelerators, row.accelerators) > MOST_SCALED:
        reasons.because["accelerators"] = (
            f"published for {row.accelerators:,}, more than {MOST_SCALED:.0f} times as "
            f"{'many' if row.accelerators > request.accelerators else 'few'}"
        )
        _give(reasons, accelerators=row.accelerators)
    if times_apart(request.sequence, row.sequence) > NEAR_SEQUENCES:
        reasons.because["sequence"] = (
            f"published for {row.sequence:,} tokens a sequence, not within a factor of {NEAR_SEQUENCES:.0f}"
        )
        reasons.give["seq"] = row.sequence
        reasons.request = replace(reasons.request, sequence=row.sequence)


def _give(reasons: _Reasons, **words: int) -> None:
    reasons.give |= words
    changed: dict[str, Any] = dict(words)
    reasons.request = replace(reasons.request, **changed)


def _valid(reasons: _Reasons, row: Publication) -> Configuration:
    """Return the configuration, with more accelerators or another batch where it needs them."""
    request = reasons.request
    one = configuration_of(request, row)
    error = _error(request, one)
    if error is None:
        return one
    changed = _other_batch(request, row)
    if changed is not None:
        reasons.because["batch"] = error
        _give(reasons, global_batch=changed.global_batch)
        return configuration_of(reasons.request, row)
    for count in _other_accelerators(request, row):
        there = replace(request, accelerators=count)
        if _error(there, configuration_of(there, row)) and _other_batch(there, row) is None:
            continue
        reasons.because["accelerators" if error.startswith("accelerators") else "divisibility"] = error
        _give(reasons, accelerators=count)
        if _error(there, configuration_of(there, row)):
            return _valid(reasons, row)
        return configuration_of(there, row)
    reasons.because["divisibility"] = error
    return one


def _error(request: SearchRequest, one: Configuration) -> str | None:
    """Return the reason why a configuration is invalid, None if it is valid."""
    try:
        check_configuration(request.model, one, request.accelerators, uneven_stages=True)
    except InvalidInput as error:
        return str(error)
    return None


def _other_batch(request: SearchRequest, row: Publication) -> Configuration | None:
    """Return the configuration with the nearest valid batch, larger ones first."""
    one = configuration_of(request, row)
    step = one.dp * one.micro_batch
    first = -(-request.global_batch // step)
    for count in (*range(first, first + 4 * one.pp + 2), *range(first - 1, 0, -1)):
        other = replace(one, global_batch=count * step)
        if _error(request, other) is None:
            return other
    return None


def _other_accelerators(request: SearchRequest, row: Publication) -> Iterator[int]:
    """Yield numbers of accelerators to try: multiples of a replica's, then those of the publication."""
    inside = row.words["tp"] * row.words["pp"] * row.words.get("cp", 1)
    first = -(-request.accelerators // inside)
    yield from (inside * first * scale for scale in (1, *MORE))
    yield row.accelerators


def _fitting(reasons: _Reasons, one: Configuration, row: Publication) -> None:
    """Record the missing memory of a configuration, and look for the smallest remedy."""
    request = reasons.request
    if "divisibility" in reasons.because and _error(request, one):
        return
    needed = request.memory(configuration_table([one]))
    if needed.fits[0]:
        return
    total = float(needed.total[0])
    reasons.because["memory"] = (
        f"needs {format_memory(total)} of {format_memory(needed.capacity_bytes)} an accelerator"
    )
    precision = row.words["precision"]
    tried = replace(request, precision=precision)
    if precision != request.precision and _fits(tried, replace(one, precision=precision)):
        reasons.give["precision"] = precision
        return
    for scale in MORE:
        batch, count = request.global_batch * scale, request.accelerators * scale
        larger = replace(request, accelerators=count, global_batch=batch)
        if _fits(larger, replace(one, dp=one.dp * scale, global_batch=batch)):
            reasons.give |= {"accelerators": count, "global_batch": batch}
            return
    here = find_accelerator(request.system.accelerator).architecture
    parts = [
        part
        for part in accelerators()
        if part.architecture == here and request.precision in part.peaks and part.usable_memory_bytes >= total
    ]
    if parts:
        reasons.give["accelerator"] = min(parts, key=lambda part: part.usable_memory_bytes).name


def _fits(request: SearchRequest, one: Configuration) -> bool:
    return bool(request.memory(configuration_table([one])).fits[0])


def not_chosen(request: SearchRequest, one: Configuration) -> Iterator[Reason]:
    """Yield the reasons why a search excludes a valid configuration; none if it does not."""
    # what is searched, but not as far
    choices = request.choices(request.accelerators)
    for name in _SEARCHED:
        value, among = getattr(one, name), getattr(choices, name)
        number = recomputation_bits(value) if name == "recompute" else int(value)
        if not among or number in among:
            continue
        if name in request.fixed:
            yield _fixed(request, one, name)
        elif name == "recompute":
            yield "recompute", f"recompute {value} is not among those tried", {name: value}
        else:
            yield "limits", f"{name} {value} is above what is tried, {max(among)}", _limit(name, value)
    if not request.choices(request.accelerators).zero_in_pipelines and one.zero > 1 and one.pp > 1:
        yield "zero", f"zero {one.zero} is not tried in pipelines", {"zero": one.zero, "pp": one.pp}
    if not request.limits.uneven_stages:
        try:
            check_configuration(request.model, one, request.accelerators)
        except InvalidInput as error:
            yield "divisibility", str(error), {"uneven_stages": True}
    yield from _never_varied(request, one)


def _never_varied(request: SearchRequest, one: Configuration) -> Iterator[Reason]:
    """Yield the fields that are fixed by options, or have their default, in all rows."""
    alone: dict[str, Any] = {}
    for name in dict.fromkeys((*one.unusual, *request.fixed)):
        value = getattr(one, name)
        if name in _SEARCHED or value == request.fixed.get(name, _USUAL[name]):
            continue
        if name in request.fixed:
            yield _fixed(request, one, name)
        elif name not in _SCHEDULES or not request.limits.any_schedule:
            alone[name] = value
    for cause, names in (("schedule", _SCHEDULES), ("words", tuple(set(alone) - set(_SCHEDULES)))):
        words = {name: value for name, value in alone.items() if name in names}
        if words:
            said = ", ".join(f"{name} {_word(value)}" for name, value in words.items())
            yield cause, f"{said}: not tried unless given", words


def _fixed(request: SearchRequest, one: Configuration, name: str) -> Reason:
    value = getattr(one, name)
    return (
        "fixed",
        f"{name} is {_word(value)} there, and {_word(request.fixed[name])} was given",
        {name: value},
    )


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _limit(name: str, value: int) -> dict[str, Any]:
    """Return the limit to raise, or the value to give where there is none."""
    limit = f"max_{name}"
    return {limit: value} if limit in {column.name for column in fields(Limits)} else {name: value}
