"""Values that no program likes: numbers at every edge, half characters, names that no file can have."""

from random import Random
from typing import Any

DIGITS = "9" * 6000
NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 0.5, -0.0, 1e-308, 5e-324, 1e30, 1e300, 1.7e308, -1e308),
    *(
        2**31 - 1,
        2**31,
        2**53 + 1,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**18,
        99_999_999_999,
        10**30,
        -(10**30),
    ),
    *(float("nan"), float("inf"), -float("inf")),
)
TEXTS = (
    *("", " ", "x" * 6000, "\ud800", "\x00", "\x1b[2J", "é", "'", '"', ".", "-", "--", "=", ",", ":", "{}"),
    *(
        "none",
        "null",
        "true",
        "nan",
        "inf",
        "-1",
        "0",
        "1e400",
        "1e308d",
        "1e-300bps",
        "0 Gbps",
        "1e400Gbps",
        "-1 GB",
    ),
    *(
        "1e300 GB",
        "100 Gbps",
        "1us",
        "1e13 s",
        DIGITS,
        f"{DIGITS}Gbps",
        "a=1",
        "tables=99999999999",
        "=",
        "a,b,,c",
        "0-1",
    ),
    *(
        "99999999999-1",
        "0-1@1ms",
        "zipf:nan",
        "zipf:1e308",
        "n" * 300,
        "no/such/file.json",
        "loop",
        "dangling",
        "pipe",
        ".",
    ),
)
SHAPES: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    {"a": {"a": {}}},
    [None] * 3,
    {"": 0},
    [1, "a", {}],
)


def deep(levels: int = 2000) -> str:
    """Return JSON text of so many nested lists."""
    return "[" * levels + "]" * levels


def any_value(rng: Random) -> Any:
    """Return a number, a text or a shape that was not expected."""
    return rng.choice(rng.choice((NUMBERS, TEXTS, SHAPES)))


def any_number(rng: Random, whole: bool) -> str:
    """Return a number as the command line has it: at an edge of what computers count, or a small one."""
    if rng.random() < 0.1:
        return rng.choice(("", "x", "1.5", "0x10", DIGITS, "1e999", "nan", "+1", "１"))
    numbers = [number for number in NUMBERS if isinstance(number, int) or not whole]
    return str(rng.choice(numbers))
