"""Numbers from which a network can be wired."""

from topoopt.base.errors import InvalidInput


def check_numbers(place: str, servers: int, degree: int, bandwidth_bps: float, latency_s: float) -> None:
    """Refuse numbers from which nothing can be wired.

    Raises
    ------
    InvalidInput
        Naming the number, its value and what is allowed.
    """
    if servers < 2:
        raise InvalidInput(f"{place}: servers must be at least 2, got {servers}")
    if degree < 1:
        raise InvalidInput(f"{place}: degree must be at least 1, got {degree}")
    if not 0 < bandwidth_bps < float("inf"):
        raise InvalidInput(f"{place}: bandwidth_bps must be positive, got {bandwidth_bps}")
    if not 0 <= latency_s < float("inf"):
        raise InvalidInput(f"{place}: latency_s must be >= 0, got {latency_s}")
