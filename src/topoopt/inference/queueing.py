"""Queueing in closed form: waits for prefill (M/D/c) and for a batch (Erlang's C), and closed loops of clients.

By Little's law ``c = X * (TTFT + (o - 1) * TPOT)`` holds exactly for ``c`` clients that send their next request at
once, at a throughput of ``X`` requests per second. The time per token is that of a step with all of them, plus the
prompts added to steps meanwhile: each request sees ``(B - 1) / o`` of them per token. vLLM, SGLang and
TensorRT-LLM prefill prompts in the decode steps of others (chunked prefill, Agrawal et al., Sarathi-Serve, OSDI
2024), which read the weights once for both: a prompt adds its arithmetic and its pairs, not a separate step.
"""

import math
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.inference.step.constants import Constants, Number
from topoopt.inference.step.law import decode_step_s, prompt_pairs_s, prompt_step_s, token_s
from topoopt.inference.step.replica import Replica


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Steady state of a replica with a closed loop of clients: columns (n,).

    Attributes
    ----------
    batch : concurrent requests
    tpot_s, ttft_s : seconds
    requests_per_s : of a replica
    """

    batch: Floats
    tpot_s: Floats
    ttft_s: Floats
    requests_per_s: Floats


_HALVINGS = 24


def waiting_share(servers: int, offered: float) -> float:
    """Return the probability that all servers are busy at an offered load (Erlang's C).

    Examples
    --------
    >>> waiting_share(1, 0.25), round(waiting_share(2, 1.0), 6)
    (0.25, 0.333333)
    """
    if offered <= 0:
        return 0.0
    blocked = 1.0
    for one in range(1, servers + 1):
        blocked = offered * blocked / (one + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def prompt_wait_s(rate_per_s: float, service_s: float, stages: int = 1, readers: int = 1) -> float:
    """Return the mean wait for prefill replicas with prompts of equal length, one at a time; inf if overloaded.

    A router that tracks idle replicas makes one queue of them: waits are half of those with services of random length,
    which is exact of one replica. A pipeline takes the next prompt after a stage's share of the time.

    Parameters
    ----------
    rate_per_s
        Rate of requests to all of them, as a Poisson process.
    service_s
        Time of a prompt through all stages.

    Examples
    --------
    At 80 % a prompt of a second waits two; in two stages one of half of that; before two replicas less.

    >>> round(prompt_wait_s(0.8, 1.0), 6), round(1 + prompt_wait_s(0.8, 1.0, 2), 6)
    (2.0, 1.166667)
    >>> round(prompt_wait_s(1.6, 1.0, readers=2), 4)
    0.8889
    """
    each_s = service_s / stages
    busy = rate_per_s * each_s / readers
    if busy >= 1:
        return math.inf
    return waiting_share(readers, busy * readers) * each_s / (2 * readers * (1 - busy))


def late_wait_s(
    rate_per_s: float, service_s: float, stages: int = 1, readers: int = 1, share: float = 0.9
) -> float:
    """Return the quantile of the prompts' waiting time, whose mean is :func:`prompt_wait_s`.

    Waiting times above 0 are about exponential, as is the exact tail of M/D/1 in heavy traffic.

    Examples
    --------
    >>> round(late_wait_s(0.8, 1.0), 3), late_wait_s(0.05, 1.0)
    (5.199, 0.0)
    """
    each_s = service_s / stages
    busy = rate_per_s * each_s / readers
    if busy >= 1:
        return math.inf
    waiting = waiting_share(readers, busy * readers)
    if waiting <= 1 - share:
        return 0.0
    return each_s / (2 * readers * (1 - busy)) * math.log(waiting / (1 - share))


def busy_limits(slack: Floats, readers: int, share: float = 0.9) -> Floats:
    """Return the utilization of readers at which a share of the prompts wait no longer than ``slack``.

    Parameters
    ----------
    slack : float64 array
        Waits in units of a prompt's service; below 0 there is none, and the result is 0.
    """
    low, high = np.zeros(slack.shape), np.ones(slack.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        offered, blocked = middle * readers, np.ones(slack.shape)
        for one in range(1, readers + 1):
            blocked = offered * blocked / (one + offered * blocked)
        waiting = blocked / (1 - middle * (1 - blocked))
        beyond = np.log(np.maximum(waiting / (1 - share), 1.0))
        fits = beyond / (2 * readers * (1 - middle)) <= slack
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(slack < 0, 0.0, low)


def place_wait_s(places: float, busy_places: float, holding_s: float) -> float:
    """Return the mean wait for a place, given the mean number of busy places (Erlang's C).

    Examples
    --------
    A place occupied half of the time has a mean wait equal to its service time.

    >>> round(place_wait_s(1, 0.5, 3.0), 9)
    3.0
    """
    count = max(int(places), 1)
    if busy_places >= count:
        return math.inf
    return waiting_share(count, busy_places) * holding_s / (count - busy_places)


def closed_loop(
    one: Replica, law: Constants, clients: Number, prompt: Number, answer: Number, held: Number
) -> ClosedLoop:
    """Return the steady state of a replica that prefills and decodes for a closed loop of clients.

    Parameters
    ----------
    held
        Requests whose caches the replica has memory for; further ones wait.
    """
    batch = np.maximum(np.minimum(clients, held), 1.0)
    step = decode_step_s(one, law, batch, prompt + answer / 2)
    each = prompt_each_s(one, law, batch, prompt)
    alone = prompt_step_s(one, law, prompt)
    tpot = step + law.interference * (batch - 1) / answer * mixed_prompt_s(one, law, batch, prompt)
    cycle = answer * tpot + alone
    load = np.minimum(batch * each / cycle, 0.95)
    waits = law.wave * (batch - 1) * each + law.queue * load * each / (2 * (1 - load))
    extra = np.maximum(clients - batch, 0.0) / batch * cycle
    ttft = alone + waits + step * (batch > 1) / 2 + extra
    return ClosedLoop(batch, tpot, ttft, clients / (ttft + np.maximum(answer - 1, 0.0) * tpot))


def prompt_each_s(one: Replica, law: Constants, batch: Number, prompt: Number) -> Floats:
    """Return the seconds per prompt of a joint prefill: one prompt on each copy of attention."""
    beside = np.minimum(one.attention_data, batch)
    return prompt_step_s(one, law, beside * prompt, beside) / beside


def mixed_prompt_s(one: Replica, law: Constants, batch: Number, prompt: Number) -> Floats:
    """Return the delay of decode steps by one prompt, at a decode batch.

    Tokens of the prompt are processed with those of the requests; the engine's overhead of a prefill
    (``prompt_step_s``, ``prompt_layer_s``) is in the time to first token only.
    """
    beside = np.minimum(one.attention_data, batch)
    alone, mixed = (token_s(one, law, tokens, decoding=False) for tokens in (batch, batch + beside * prompt))
    return (mixed - alone + prompt_pairs_s(one, law, prompt)) / beside
