"""Workers divided among jobs so that the sum of what each gets out of them is largest."""

from collections.abc import Mapping, Sequence

import numpy as np


def best_division(values: Sequence[Mapping[int, float]], workers: int) -> tuple[tuple[int, ...], float]:
    """Return the division of at most so many workers that has the largest sum of values, and that sum.

    Dynamic programming over jobs, exact. Of equal sums the one that gives the last jobs least is taken.

    Parameters
    ----------
    values : sequence of mappings
        For each job, what a number of workers is worth to it; 0 is among them.
    workers : int

    Returns
    -------
    tuple of int, float
        Workers of each job.

    Examples
    --------
    >>> best_division([{0: 0.0, 1: 3.0, 2: 4.0}, {0: 0.0, 2: 2.5}], 3)
    ((1, 2), 5.5)
    """
    best = np.zeros(workers + 1)
    chosen = np.zeros((len(values), workers + 1), np.int64)
    for job, worth in enumerate(values):
        after = np.full(workers + 1, -np.inf)
        for count, value in sorted(worth.items()):
            if count > workers:
                continue
            with_it = best[: workers + 1 - count] + value
            better = with_it > after[count:]
            after[count:][better] = with_it[better]
            chosen[job, count:][better] = count
        best = after
    division, left = [], workers
    for job in reversed(range(len(values))):
        division.append(int(chosen[job, left]))
        left -= division[-1]
    return tuple(reversed(division)), float(best[workers])
