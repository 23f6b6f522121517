"""Small sweeps, and crews that compute here or only say that they had."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from topoopt.studies.sweep import Answer, Crew, Sweep, Task, read_sweep, solve

TINY = "models: vgg16\nservers: [4, 5]\ndegree: 2\nbudget: 20\nfabrics: [topoopt, ideal-switch]\n"
"""Four points of two plans."""

MakeSweep = Callable[..., Sweep]


def here(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
    """Compute in this process."""
    for task in tasks:
        on_start(task)
        yield from solve(task)


def pretending(status: str = "ok", most: int = 10**6, error: str = "") -> tuple[Crew, list[str]]:
    """Return a crew that makes results up, up to so many, and the list of the points that it was given."""
    asked: list[str] = []

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        for task in tasks:
            on_start(task)
            for point in task.points:
                if len(asked) == most:
                    raise KeyboardInterrupt
                asked.append(point.digest)
                values = {
                    "iteration_time_s": point.servers / point.bandwidth_bps * 1e9,
                    "cost_usd": None if point.fabric == "torus" else float(point.servers * len(point.fabric)),
                    "plan_strides": [1, 3],
                    "strategy": "7 data parallel in 4",
                }
                yield Answer(point, status, error, values if status == "ok" else {}, 0.5)

    return crew, asked


@pytest.fixture
def sweep(tmp_path: Path) -> MakeSweep:
    """Return a function that reads a sweep from text."""

    def make(text: str = TINY, name: str = "sweep.yaml") -> Sweep:
        (tmp_path / name).write_text(text)
        return read_sweep(tmp_path / name)

    return make
