"""What of a configuration no row of a search has: values above its limits, fixed to others, or never varied."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.transformers.check import check_configuration
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.recomputation import recomputation_bits
from topoopt.transformers.search.choices import Limits
from topoopt.transformers.search.request import SearchRequest

_SEARCHED = (
    *("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch"),
    *("zero", "recompute", "sequence_parallel"),
)
_SCHEDULES = ("schedule", "overlap_experts")
_USUAL = {column.name: column.default for column in fields(Configuration)}

Reason = tuple[str, str, dict[str, Any]]
"""A cause in a word, a line that says it, and the words to give."""


def not_chosen(request: SearchRequest, one: Configuration) -> Iterator[Reason]:
    """Yield why a valid configuration is not among those of a search; nothing if it is."""
    yield from _beyond(request, one)
    if not request.choices(request.accelerators).zero_in_pipelines and one.zero > 1 and one.pp > 1:
        yield "zero", f"zero {one.zero} is not tried in pipelines", {"zero": one.zero, "pp": one.pp}
    if not request.limits.uneven_stages:
        try:
            check_configuration(request.model, one, request.accelerators)
        except InvalidInput as error:
            yield "divisibility", str(error), {"uneven_stages": True}
    yield from _never_varied(request, one)


def _beyond(request: SearchRequest, one: Configuration) -> Iterator[Reason]:
    """Yield what is searched, but not as far."""
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


def _never_varied(request: SearchRequest, one: Configuration) -> Iterator[Reason]:
    """Yield what all rows have as it was given, or as usual."""
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
