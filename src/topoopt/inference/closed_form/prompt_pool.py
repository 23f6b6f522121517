"""A pool that reads prompts, which arrive by themselves: the queue M/D/1, and what splitting the model does to it.

All prompts take ``duration_s`` on one accelerator, and arrive at random at ``rate`` a second (DistServe, section 3.1).
"""

from topoopt.base.errors import InvalidInput


def single_s(duration_s: float, rate: float) -> float:
    """Return the mean time to the first token: reading, and waiting of an M/D/1 queue.

    Raises
    ------
    InvalidInput
        If more prompts arrive than are read, with the largest rate that is stable.

    Examples
    --------
    >>> round(single_s(0.1, 8.0), 6)  # at a load of 0.8 three times the reading
    0.3
    """
    load = _load(duration_s, rate)
    return duration_s + load * duration_s / (2 * (1 - load))


def pipelined_s(duration_s: float, rate: float, stages: int = 2) -> float:
    """Return the same over pipeline stages: a prompt takes as long, the next one starts after a stage's share.

    Examples
    --------
    >>> pipelined_s(0.1, 8.0) == 0.1 + 8 * 0.1**2 / (4 * (2 - 8 * 0.1))
    True
    """
    slot = duration_s / stages
    load = _load(slot, rate)
    return duration_s + load * slot / (2 * (1 - load))


def tensor_parallel_s(duration_s: float, rate: float, speed_up: float) -> float:
    """Return the same with tensor parallelism that reads a prompt so many times as fast."""
    return single_s(duration_s / speed_up, rate)


def _load(slot_s: float, rate: float) -> float:
    load = slot_s * rate
    if not 0 <= load < 1:
        raise InvalidInput(
            f"rate {rate:g}: prompts arrive faster than they are read; stable below {1 / slot_s:.4g} a second"
        )
    return load
