"""The tables of training runs in ``benchmarks/data``, each read once by all tests of a process."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from topoopt.measurements.training import Error, Runs, predict_runs, read_runs

DATA = Path(__file__).parents[3] / "benchmarks" / "data"


@cache
def shipped_runs(name: str) -> Runs:
    return read_runs(DATA / f"{name}.csv")


@cache
def published_errors() -> Mapping[str, Error]:
    """Return the errors of published runs; none of them was fitted."""
    return predict_runs(shipped_runs("published_runs")).errors
