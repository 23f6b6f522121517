"""Values of any column as a person reads them; the ending of the column's name says the unit."""

from collections.abc import Callable, Mapping
from typing import Any

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.pages.words import usd

LONGEST = 60
"""Characters of a text in a table; all of it is in JSON and in files."""


def _percent(value: float) -> str:
    return f"{value:.1%}"


BY_ENDING: Mapping[str, Callable[[float], str]] = {
    "_per_s": lambda value: f"{value:,.0f} /s",
    "_s": format_time,
    "_bps": format_bandwidth,
    "_usd": usd,
    "_bytes": format_bytes,
    "bytes_max": format_bytes,
    "_w": lambda value: f"{value:,.0f} W",
    "gap": _percent,
    "mfu": _percent,
}

Forms = Mapping[str, Callable[[float], str]]


def heading(column: str, forms: Mapping[str, Any] = BY_ENDING) -> str:
    """Return the words of a column's name without the unit that is printed with its values.

    Examples
    --------
    >>> heading("link_bandwidth_bps")
    'link bandwidth'
    """
    unit = next((ending for ending in forms if ending[0] == "_" and column.endswith(ending)), "")
    return column.removesuffix(unit).replace("_", " ")


def cell(column: str, value: Any, forms: Forms = BY_ENDING) -> str:
    """Return the text of a value, a dash for none; ``forms`` are the functions by the ending of a column's name.

    Examples
    --------
    >>> cell("tokens_per_s", 247200.4), cell("mfu", 0.4525)
    ('247,200 /s', '45.2%')
    >>> cell("iteration_time_s", 0.0201), cell("gap", 0.087), cell("plan_strides", [1, 5]), cell("cost_usd", None)
    ('20.1 ms', '8.7%', '1, 5', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    for ending, form in forms.items():
        if column.endswith(ending):
            return form(value)
    return str(value) if isinstance(value, int) else f"{value:.6g}"
