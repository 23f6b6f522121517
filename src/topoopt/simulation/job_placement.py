"""Which servers of a fabric each of several jobs gets."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from topoopt.base.errors import Infeasible, InvalidInput, check_known

Placement = tuple[tuple[int, ...], ...]
"""For each job the servers of the fabric, in the order of the job's own servers."""


def place_jobs(sizes: Sequence[int], servers: int, how: str = "contiguous", seed: int = 0) -> Placement:
    """Return servers for jobs of the given sizes, no server twice.

    Parameters
    ----------
    sizes : servers of each job
    servers : int
        Of the fabric; what is left over stays idle.
    how : str
        Name in :data:`PLACEMENTS`. ``contiguous``: one job after the other. ``strided``: dealt like cards, a
        server to each job in turn. ``random``: drawn with the seed.

    Raises
    ------
    InvalidInput
        If there is no such placement, or a job has no server.
    Infeasible
        If the fabric is too small.

    Examples
    --------
    >>> place_jobs([2, 3], 6)
    ((0, 1), (2, 3, 4))
    >>> place_jobs([2, 3], 6, "strided")
    ((0, 2), (1, 3, 4))
    """
    check_known("placement", how, PLACEMENTS)
    for job, size in enumerate(sizes):
        if size < 1:
            raise InvalidInput(f"placement: job {job} must have at least one server, got {size}")
    if sum(sizes) > servers:
        raise Infeasible(
            f"placement: {len(sizes)} jobs need {sum(sizes)} servers, the fabric has {servers}; "
            "take a larger fabric or fewer jobs"
        )
    return PLACEMENTS[how](sizes, servers, seed)


def check_placement(placement: Placement, sizes: Sequence[int], servers: int) -> None:
    """Refuse a placement that does not fit the jobs or the fabric.

    Raises
    ------
    InvalidInput
        If a job has too many or too few servers, a server does not exist, or two jobs share one.
    """
    if len(placement) != len(sizes):
        raise InvalidInput(f"placement: expected one row for each of {len(sizes)} jobs, got {len(placement)}")
    holder: dict[int, int] = {}
    for job, (row, size) in enumerate(zip(placement, sizes, strict=True)):
        if len(row) != size:
            raise InvalidInput(f"placement: job {job} has {size} servers, its row names {len(row)}")
        for server in row:
            if not 0 <= server < servers:
                raise InvalidInput(
                    f"placement: job {job}: server must be in 0..{servers - 1}, got {server}; "
                    "take a larger fabric or place the job on servers that are there"
                )
            if server in holder:
                raise InvalidInput(
                    f"placement: server {server} is given to job {holder[server]} and to job {job}; "
                    "give each server once"
                )
            holder[server] = job


def _contiguous(sizes: Sequence[int], servers: int, seed: int) -> Placement:
    return _cut(list(range(servers)), sizes)


def _strided(sizes: Sequence[int], servers: int, seed: int) -> Placement:
    rows: list[list[int]] = [[] for _ in sizes]
    hungry = [job for job, _ in enumerate(sizes)]
    server = 0
    while hungry:
        for job in hungry:
            rows[job].append(server)
            server += 1
        hungry = [job for job in hungry if len(rows[job]) < sizes[job]]
    return tuple(tuple(row) for row in rows)


def _random(sizes: Sequence[int], servers: int, seed: int) -> Placement:
    return _cut(np.random.default_rng(seed).permutation(servers).tolist(), sizes)


def _cut(order: list[int], sizes: Sequence[int]) -> Placement:
    ends = np.cumsum(sizes).tolist()
    return tuple(tuple(order[end - size : end]) for end, size in zip(ends, sizes, strict=True))


PLACEMENTS: Mapping[str, Callable[[Sequence[int], int, int], Placement]] = {
    "contiguous": _contiguous,
    "strided": _strided,
    "random": _random,
}
"""Ways to place jobs, by name."""
