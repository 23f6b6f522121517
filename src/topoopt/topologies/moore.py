"""Moore's bound: how near servers can be at all, with so many interfaces each."""

from collections.abc import Iterator


def moore_histogram(servers: int, degree: int, links: str = "duplex") -> Iterator[int]:
    """Yield how many servers can at most be 1, 2, 3, … hops away, until all are.

    A cable leads back as well, so that each server met offers d - 1 new ones, and a fiber d.

    Examples
    --------
    >>> list(moore_histogram(128, 8)), list(moore_histogram(128, 4, "directed"))
    ([8, 56, 63], [4, 16, 64, 43])
    """
    left, fresh = servers - 1, degree
    while left > 0:
        if degree < 1 or (fresh < 1 and left > 0):
            fresh = left
        met = min(fresh, left)
        yield met
        left -= met
        fresh *= degree - 1 if links == "duplex" else degree


def moore_average_hops(servers: int, degree: int, links: str = "duplex") -> float:
    """Return the least mean of hops that any wiring of so many interfaces can have.

    Examples
    --------
    >>> round(moore_average_hops(128, 8), 4), round(moore_average_hops(128, 4), 4)
    (2.4331, 3.4331)
    """
    met = enumerate(moore_histogram(servers, degree, links), start=1)
    return sum(hops * count for hops, count in met) / (servers - 1)
