"""Tables of measured runs that come with the project, read once for all tests."""

from functools import cache
from pathlib import Path

from topoopt.measurements.training import Runs, read_runs

DATA = Path(__file__).parents[3] / "benchmarks" / "data"


@cache
def published(name: str) -> Runs:
    return read_runs(DATA / name)
