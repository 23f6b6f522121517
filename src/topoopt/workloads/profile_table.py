"""The noun ProfileTable: operator times of one model, measured at one global batch."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from topoopt.schema.files import Amount, Count, Number, Positive


@dataclass(frozen=True, slots=True)
class Measurement:
    """One operator measured on one server.

    Attributes
    ----------
    samples : float
        Samples that the server's part holds: the global batch divided by the parts.
    memory_bytes : int
        Memory of one accelerator.
    """

    samples: Positive
    forward_s: Amount
    backward_s: Amount
    memory_bytes: Count


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """Measurements by the operator's profile key, each in ascending order of samples.

    ``model`` is the variant of the zoo whose operators have the measured shapes, as the keys alone do not
    say them.
    """

    model: str
    servers: Number
    global_batch: Number
    measurements: Mapping[str, tuple[Measurement, ...]]


def profile_table(
    model: str, servers: int, global_batch: int, rows: Iterable[tuple[str, int, float, float, int]]
) -> ProfileTable:
    """Return a table from rows of (name, parts, forward ms, backward ms, memory bytes)."""
    by_name: dict[str, list[Measurement]] = {}
    for name, parts, forward_ms, backward_ms, memory_bytes in rows:
        row = Measurement(global_batch / parts, forward_ms * 1e-3, backward_ms * 1e-3, memory_bytes)
        by_name.setdefault(name, []).append(row)
    ordered = {name: tuple(sorted(points, key=lambda m: m.samples)) for name, points in by_name.items()}
    return ProfileTable(model, servers, global_batch, ordered)


@cache
def published_tables() -> tuple[ProfileTable, ...]:
    """Return the authors' A100 measurements, which come with the package (see ``profiles/README.md``)."""
    text = files("topoopt.workloads").joinpath("profiles/a100.csv").read_text(encoding="utf-8")
    groups: dict[tuple[str, int, int], list[tuple[str, int, float, float, int]]] = {}
    reader = csv.reader(text.splitlines())
    next(reader)
    for model, servers, batch, name, parts, forward_ms, backward_ms, memory_bytes in reader:
        row = (name, int(parts), float(forward_ms), float(backward_ms), int(memory_bytes))
        groups.setdefault((model, int(servers), int(batch)), []).append(row)
    return tuple(profile_table(*key, rows) for key, rows in groups.items())
