"""Finding a topology: a job's, a hall's, and the largest circulant."""

from collections.abc import Iterator

from benchmarks.figure import Figure


def figures() -> Iterator[Figure]:
    yield from ()
