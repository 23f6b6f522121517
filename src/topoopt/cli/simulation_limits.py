"""Numbers beyond which a simulation could not count: refused in words, before they overflow or run for ever."""

from topoopt.errors import InvalidInput
from topoopt.units import parse_bandwidth, parse_time

MOST_SERVERS = 100_000
MOST_INTERFACES = 1_000
MOST_PACKETS = 1_000_000_000
"""Of a buffer: far more than any switch has, and its bytes still fit into 64 bits."""
MOST_SEED = (1 << 63) - 1
MOST_DELAY_S = 1_000
"""Of a hop, a change of circuits and a timeout; packets are timed in picoseconds, 64 bits of them."""
MOST_MOMENT_S = 1_000_000
LEAST_BPS = 1.0


def bounded(value: int, flag: str, least: int, most: int, what: str = "an integer") -> int:
    """Return a number that lies within its limits.

    Raises
    ------
    InvalidInput
        If it does not.
    """
    if value < least:
        raise InvalidInput(f"{flag}: expected {what} >= {least}, got {value}")
    if value > most:
        raise InvalidInput(f"{flag}: expected {what} <= {most}, got {value}")
    return value


def bounded_time(text: str, flag: str, most_s: int = MOST_DELAY_S) -> float:
    """Return seconds, of which there are not too many."""
    time_s = parse_time(text, flag)
    if time_s > most_s:
        raise InvalidInput(f'{flag}: expected a time of at most {most_s} s, got "{text}"')
    return time_s


def bounded_bandwidth(text: str, flag: str = "--bandwidth") -> float:
    """Return bits a second, of which there is at least one."""
    bandwidth_bps = parse_bandwidth(text, flag)
    if bandwidth_bps < LEAST_BPS:
        raise InvalidInput(f'{flag}: expected at least 1 bps, got "{text}"')
    return bandwidth_bps
