"""The nouns Task and Answer: points that share a plan, and what one of them has come to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from topoopt.studies.sweep.point import Point

OK, INFEASIBLE, FAILED = "ok", "infeasible", "failed"
"""``infeasible``: the question has no answer, and asking again would not help. ``failed``: the computation broke;
the next run tries again."""


@dataclass(frozen=True, slots=True)
class Task:
    """Points with one plan, computed one after the other; job files of theirs lie in ``folder``."""

    points: tuple[Point, ...]
    folder: str = "."


@dataclass(frozen=True, slots=True)
class Answer:
    """What a point has come to.

    Attributes
    ----------
    status : str
        :data:`OK`, :data:`INFEASIBLE` or :data:`FAILED`.
    error : str
        Why there is no result, in one line; empty if there is one.
    values : mapping
        Results by column; empty if there is none.
    cpu_s : float
        Processor time of this point, with that of the plan if it was made for it.
    """

    point: Point
    status: str
    error: str
    values: Mapping[str, Any]
    cpu_s: float


class Crew(Protocol):
    """Who computes: processes of this machine, or machines of a Ray cluster."""

    def __call__(self, tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        """Yield the answers as they come, in any order; ``on_start`` is called before a task is begun."""
        ...


def tasks_of(points: Iterable[Point], folder: str) -> tuple[Task, ...]:
    """Return the points in tasks, in the order of the first point of each."""
    first: dict[str, int] = {}
    ordered = sorted(points, key=lambda point: first.setdefault(point.plan_digest, len(first)))
    groups = groupby(ordered, key=lambda point: point.plan_digest)
    return tuple(Task(tuple(group), folder) for _, group in groups)
