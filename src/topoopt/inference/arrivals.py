"""When requests come: by a Poisson process, in bursts (Gamma), or from clients that wait for their answers."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.inference.lengths import Lengths
from topoopt.inference.requests import Requests

FORM = "poisson|gamma:CV|closed:CLIENTS"
MOST_REQUESTS = 10_000_000


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How requests follow each other.

    Attributes
    ----------
    variation : float
        Standard deviation over mean of the time between two: 1 of a Poisson process, more of bursts.
    clients : int
        Of a closed loop; 0 for requests that come by the clock.
    """

    variation: float = 1.0
    clients: int = 0


def parse_arrivals(text: str) -> Arrivals:
    """Return what a word says.

    Raises
    ------
    InvalidInput
        With what is allowed.

    Examples
    --------
    >>> parse_arrivals("poisson").variation, parse_arrivals("gamma:2.5").variation, parse_arrivals("closed:64").clients
    (1.0, 2.5, 64)
    """
    kind, colon, number = text.partition(":")
    try:
        if kind == "poisson" and not colon:
            return Arrivals()
        if kind == "gamma" and 0.01 <= float(number) <= 100:
            return Arrivals(variation=float(number))
        if kind == "closed" and 1 <= int(number) <= MOST_REQUESTS:
            return Arrivals(clients=int(number))
    except ValueError:
        pass
    raise InvalidInput(
        f"arrivals: expected {FORM}, a variation from 0.01 to 100 or a number of clients, got {shown(text)}"
    )


def draw_requests(
    arrivals: Arrivals, count: int, rate_per_s: float, inputs: Lengths, outputs: Lengths, seed: int
) -> Requests:
    """Return so many requests; with another rate the same ones come nearer to each other, or farther apart.

    Times between two are Gamma distributed with mean 1/rate; with a variation of 1 that is a Poisson process.

    Parameters
    ----------
    rate_per_s
        Requests a second; of a closed loop it says nothing.
    """
    if not 1 <= count <= MOST_REQUESTS:
        raise InvalidInput(f"requests: expected 1 to {MOST_REQUESTS:,} of them, got {count}")
    times, prompts, answers = (np.random.default_rng([seed, part]) for part in range(3))
    input_tokens, output_tokens = inputs.draw(count, prompts), outputs.draw(count, answers)
    if arrivals.clients:
        return Requests(np.zeros(count), input_tokens, output_tokens, clients=arrivals.clients)
    shape = 1 / arrivals.variation**2
    between = times.gamma(shape, 1 / shape, count)
    return Requests(np.cumsum(between) / rate_per_s, input_tokens, output_tokens)
