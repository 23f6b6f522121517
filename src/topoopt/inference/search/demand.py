"""The noun Demand: the requests of a service at rate 1, and what a mean one asks of replicas."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.inference.requests import Requests


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What is asked.

    Attributes
    ----------
    requests : Requests
        At the rate at which a trace has them, or at one a second.
    rate_per_s : float or None
        The rate that is asked for; None for as many as are answered in time, and of a closed loop.
    words : str
        What they are, for people.
    """

    requests: Requests
    rate_per_s: float | None
    words: str

    def __post_init__(self) -> None:
        if self.rate_per_s is not None and not 0 < self.rate_per_s < float("inf"):
            raise InvalidInput(f"rate: expected requests a second above 0, got {self.rate_per_s:g}")

    def at(self, rate_per_s: float) -> Requests:
        """Return the requests at another rate; a closed loop has none."""
        if self.requests.clients:
            return self.requests
        return self.requests.at_rate(rate_per_s / self.requests.rate_per_s)

    @property
    def prompt(self) -> float:
        """Mean tokens of a prompt."""
        return float(self.requests.input_tokens.mean())

    @property
    def answer(self) -> float:
        """Mean tokens of an answer."""
        return float(self.requests.output_tokens.mean())

    @property
    def pairs(self) -> float:
        """Mean pairs of tokens of a prompt that attention looks at."""
        return float((self.requests.input_tokens.astype(float) ** 2).mean() / 2)

    @property
    def cached(self) -> float:
        """Mean tokens in the cache of a request while it is answered: long answers are under way for longer."""
        prompts, answers = (
            tokens.astype(float) for tokens in (self.requests.input_tokens, self.requests.output_tokens)
        )
        return float((answers * (prompts + answers / 2)).sum() / answers.sum())

    def long_prompt(self, share: float) -> float:
        """Return the tokens that so large a share of prompts has at most."""
        return float(np.quantile(self.requests.input_tokens, share))

    @property
    def most_tokens(self) -> int:
        """Tokens of the longest request with its answer."""
        return int((self.requests.input_tokens + self.requests.output_tokens).max())
