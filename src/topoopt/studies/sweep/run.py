"""A sweep run: what is not in the results file yet is computed, and written as it comes."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from topoopt.schema.files import is_file
from topoopt.studies.sweep.answer import Answer, Crew, tasks_of
from topoopt.studies.sweep.database import damage_in_a_line, open_database
from topoopt.studies.sweep.file import Sweep
from topoopt.studies.sweep.store import open_store

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class SweepRun:
    """How a run went.

    Attributes
    ----------
    points : int
        Of the sweep.
    found : int
        Of those, what was in the file already.
    computed : int
        Points that this run has added.
    by_status : mapping
        Number of the added points by status.
    others : int
        Points in the file that are not of this sweep.
    """

    points: int
    found: int
    computed: int
    by_status: dict[str, int]
    others: int


def run_sweep(
    sweep: Sweep,
    path: str | Path,
    crew: Crew,
    *,
    on_progress: Progress = lambda stage, done, total: None,
    mix_versions: bool = False,
) -> SweepRun:
    """Compute what is missing, and write every answer before the next one is looked at.

    A process that is killed at any moment has lost only what was being computed: the next run goes on with it.

    Raises
    ------
    InvalidInput
        If the file holds no results, or those of another version.
    """
    with open_store(path, sweep, mix_versions=mix_versions) as store:
        finished = store.finished()
        missing = [point for point in sweep.points if point.digest not in finished]
        found = len(sweep.points) - len(missing)
        statuses: Counter[str] = Counter()
        with _closed(crew(tasks_of(missing, sweep.folder), store.begin)) as answers:
            for answer in answers:
                store.keep(answer)
                statuses[answer.status] += 1
                point = answer.point
                stage = f"{point.model}, {point.servers} servers: {point.fabric}"
                on_progress(stage, statuses.total(), len(missing))
        return SweepRun(len(sweep.points), found, statuses.total(), dict(statuses), len(finished) - found)


def count_finished(sweep: Sweep, path: str | Path) -> int:
    """Return how many points of a sweep are in a results file; none if there is no such file."""
    if not is_file(path):
        return 0
    with damage_in_a_line(path), closing(open_database(path, read_only=True)) as connection:
        rows = connection.execute("SELECT digest FROM points WHERE status <> 'failed'").fetchall()
    finished = {row[0] for row in rows}
    return sum(point.digest in finished for point in sweep.points)


@contextmanager
def _closed(answers: Iterator[Answer]) -> Iterator[Iterator[Answer]]:
    """End the crew at once when the run ends, also by Ctrl-C, and not when the iterator is collected."""
    try:
        yield answers
    finally:
        close = getattr(answers, "close", None)
        if close is not None:
            close()
