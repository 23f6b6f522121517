"""Answers do not depend on the processor: no kernel takes functions of the C library, and all sorting is stable."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "topoopt"
OF_THE_LIBRARY = re.compile(
    r"\b(?:math|np)\.(?:a?(?:sin|cos|tan)h?|arc\w+|cbrt|exp2?|expm1|log(?:2|10|1p)?|pow(?:er)?)\b"
    r"|\*\* ?(?:\(|0\.)|from math import.*\b(?:cbrt|cos|exp|log|pow|sin)\b"
)
UNSTABLE = re.compile(r"argsort\((?!.*kind=\"stable\")")
"""NumPy sorts equal numbers in an order of its own on processors with wider registers."""


def _lines(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_kernels_take_elementary_functions_of_our_own() -> None:
    kernels = [
        path for path in sorted(SOURCE.rglob("*.py")) if "kernel" in path.relative_to(SOURCE).as_posix()
    ]
    assert len(kernels) > 30
    assert _lines(OF_THE_LIBRARY, kernels) == []


def test_equal_numbers_are_sorted_by_place() -> None:
    assert _lines(UNSTABLE, sorted(SOURCE.rglob("*.py"))) == []
