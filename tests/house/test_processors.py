"""Choices do not depend on the processor: kernels use the package's own ``exp``, and all sorting is stable."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "topoopt"
EXP_OF_THE_LIBRARY = re.compile(r"\b(?:math|np)\.exp\b|from math import.*\bexp\b")
UNSTABLE = re.compile(r"argsort\((?!.*kind=\"stable\")")
"""NumPy sorts equal numbers in an order of its own on processors with wider registers."""


def _lines(pattern: re.Pattern[str], files: str) -> list[str]:
    """Return the lines with a pattern in the source files whose path has ``files`` in it."""
    names = {path: path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))}
    return [
        f"{name}:{number}: {line.strip()}"
        for path, name in names.items()
        if files in name
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_kernels_use_the_exponential_function_of_the_package() -> None:
    assert _lines(EXP_OF_THE_LIBRARY, "kernel") == []


def test_equal_numbers_are_sorted_by_place() -> None:
    assert _lines(UNSTABLE, "") == []
