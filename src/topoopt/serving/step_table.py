"""The noun StepTable: how long one step of a replica takes, as numbers that a loop can look up."""

from dataclasses import dataclass

import numpy as np

from topoopt.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """The law of a step, tabulated for one model, accelerator, split and engine.

    A step that takes ``T`` tokens, ``R`` of which ask for a next token, lasts
    ``base_s(T) + head_s(R) + decode_s_per_token * C + prefill_s_per_pair * P``, where ``C`` is the number of tokens
    that the decoding requests have in their caches together, and ``P`` the pairs of a prompt's token and an earlier
    one that attention looks at. Between the entries of a table times are linear.

    Attributes
    ----------
    tokens : array (points,) of int, ascending from 1
    base_s : array (points,) of float
        Seconds of all layers without attention's caches: weights, communication, what the engine adds.
    prefill_base_s : array (points,) of float
        The same for a step that reads prompts only, which engines run without captured graphs.
    head_s : array (points,) of float
        Seconds of the output layer by how many rows are sampled, at the same points.
    decode_s_per_token : float
        Seconds for each token of the caches that decodes look at.
    prefill_s_per_pair : float
        Seconds for each pair of tokens that reading a prompt looks at.
    stages : int
        Pipeline stages; a step of ``base_s`` goes through all of them, and another may start after a stage's share.
    """

    tokens: Ints
    base_s: Floats
    prefill_base_s: Floats
    head_s: Floats
    decode_s_per_token: float
    prefill_s_per_pair: float
    stages: int = 1

    def decode_s(self, batch: float, cached_tokens: float) -> float:
        """Return the seconds of a step in which so many requests decode, with so many cached tokens together."""
        return float(
            np.interp(batch, self.tokens, self.base_s)
            + np.interp(batch, self.tokens, self.head_s)
            + self.decode_s_per_token * cached_tokens
        )

    def prefill_s(self, prompt_tokens: float, prompts: float = 1.0) -> float:
        """Return the seconds in which so many prompts, of so many tokens together and of equal length, are read."""
        pairs = prompt_tokens * prompt_tokens / prompts / 2
        return float(
            np.interp(prompt_tokens, self.tokens, self.prefill_base_s)
            + np.interp(prompts, self.tokens, self.head_s)
            + self.prefill_s_per_pair * pairs
        )
