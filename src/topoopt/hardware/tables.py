"""The catalogue's data files as rows: one CSV a table, every row with its source."""

import csv
from importlib import resources


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of ``hardware/data/<name>.csv`` as they are written."""
    path = resources.files("topoopt.hardware") / "data" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def number_or_none(text: str) -> float | None:
    """Return the number, or None where the sources do not give one."""
    return float(text) if text else None
