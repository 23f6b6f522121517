"""The noun Requests: when each comes, how long its prompt and its answer are, and which blocks of prompts are alike."""

from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput

BLOCK_TOKENS = 512
"""Tokens of a block by which prompts are compared, as the traces of Mooncake have them."""


def _no_blocks() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests in the order in which they come.

    Attributes
    ----------
    arrival_s : array (requests,) of float, ascending
        Of a closed loop all are 0.
    input_tokens, output_tokens : array (requests,) of int
        At least 1 each; the first token of an answer is made by the step that ends the prompt.
    block_first : array (requests + 1,) of int
        Where the blocks of a request begin in ``blocks``.
    blocks : array (blocks,) of int
        Names of the blocks of :data:`BLOCK_TOKENS` tokens that prompts are made of, from their begin; equal names are
        equal prefixes. Without any, prompts have nothing in common.
    clients : int
        Of a closed loop: so many send their next request when the one before is answered. 0 for requests that come
        by the clock.
    """

    arrival_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    block_first: Ints = field(default_factory=_no_blocks)
    blocks: Ints = field(default_factory=_no_blocks)
    clients: int = 0

    def __post_init__(self) -> None:
        if not len(self.arrival_s) == len(self.input_tokens) == len(self.output_tokens) > 0:
            raise InvalidInput("requests: expected at least one, each with a time, a prompt and an answer")
        if self.input_tokens.min() < 1 or self.output_tokens.min() < 1:
            raise InvalidInput("requests: expected prompts and answers of at least one token")
        if (
            not np.isfinite(self.arrival_s).all()
            or self.arrival_s[0] < 0
            or (np.diff(self.arrival_s) < 0).any()
        ):
            raise InvalidInput("requests: expected times >= 0 in ascending order")
        if len(self.block_first) == 0:
            object.__setattr__(self, "block_first", np.zeros(len(self) + 1, np.int64))

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def rate_per_s(self) -> float:
        """Requests a second between the first and the last; infinite where all come together."""
        span_s = float(self.arrival_s[-1] - self.arrival_s[0])
        return (len(self) - 1) / span_s if span_s > 0 else float("inf")

    @property
    def tokens(self) -> int:
        """Tokens of all prompts and answers."""
        return int(self.input_tokens.sum() + self.output_tokens.sum())

    def at_rate(self, factor: float) -> "Requests":
        """Return the same requests, coming ``factor`` times as fast."""
        return replace(self, arrival_s=self.arrival_s / factor)

    def repeated(self, times: int) -> "Requests":
        """Return the requests so many times, one behind the other."""
        span_s = float(self.arrival_s[-1]) * len(self) / max(len(self) - 1, 1)
        begins = np.repeat(np.arange(times), len(self))
        firsts = [self.block_first[:-1] + turn * len(self.blocks) for turn in range(times)]
        return replace(
            self,
            arrival_s=np.tile(self.arrival_s, times) + begins * span_s,
            input_tokens=np.tile(self.input_tokens, times),
            output_tokens=np.tile(self.output_tokens, times),
            block_first=np.concatenate([*firsts, [times * len(self.blocks)]]),
            blocks=np.tile(self.blocks, times),
        )
