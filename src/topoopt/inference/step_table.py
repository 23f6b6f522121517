"""StepTable: step times of a replica as lookup tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Two halves of a batch, one of which computes while the other's tokens are sent to experts.

    Attributes
    ----------
    decode_works_s, decode_sends_s, prefill_works_s, prefill_sends_s : array (points,) of float
        Compute time of both halves, and time of their sends, at the tokens of both; no output layer.
    layers : int
    """

    decode_works_s: Floats
    decode_sends_s: Floats
    prefill_works_s: Floats
    prefill_sends_s: Floats
    layers: int


def overlapped_s(layers: Floats | int, works: Floats | float, sends: Floats | float) -> Floats:
    """Return the longer of both, plus the uncovered part of the shorter: one half in one layer."""
    return np.asarray(np.maximum(works, sends) + np.minimum(works, sends) / (2 * layers))


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Step times, tabulated for one model, accelerator, split and engine.

    A step that takes ``T`` tokens, ``R`` of which ask for a next token, lasts ``base_s(T) + head_s(R) +
    decode_s_per_token * C + prefill_s_per_pair * P``, where ``C`` is the number of tokens that the decoding requests
    have in their caches together, and ``P`` the pairs of a prompt's token and an earlier one that attention looks at.
    Between the entries of a table times are linear.

    Attributes
    ----------
    tokens : array (points,) of int, ascending from 1
    base_s : array (points,) of float
        Time of all layers without attention's caches: weights, communication, engine overhead.
    prefill_base_s : array (points,) of float
        The same for a step that only prefills, which engines run without captured graphs.
    head_s : array (points,) of float
        Seconds of the output layer by how many rows are sampled, at the same points.
    decode_s_per_token : float
        Seconds for each token of the caches that decodes look at.
    prefill_s_per_pair : float
        Seconds per pair of tokens in the attention of a prefill.
    stages : int
        Pipeline stages; a step of ``base_s`` goes through all of them, and another may start after a stage's share.
    halves : Halves or None
        Where two halves of a batch overlap. ``base_s`` and ``prefill_base_s`` are then those of overlapped products,
        with nothing hidden behind attention's caches and pairs; ``decode_s`` and ``prefill_s`` hide behind these, too.
    """

    tokens: Ints
    base_s: Floats
    prefill_base_s: Floats
    head_s: Floats
    decode_s_per_token: float
    prefill_s_per_pair: float
    stages: int = 1
    halves: Halves | None = None

    def decode_s(self, batch: float, cached_tokens: float, network_s: float = 0.0) -> float:
        """Return the time of a decode step, given the batch and its total cached tokens.

        Parameters
        ----------
        network_s
            Additional time that the table does not include: bytes on links between servers.
        """
        caches_s = self.decode_s_per_token * cached_tokens
        alone = self.at(batch, self.base_s) + caches_s + network_s
        if self.halves:
            works = self.at(batch, self.halves.decode_works_s) + caches_s
            sends = self.at(batch, self.halves.decode_sends_s) + network_s
            alone = min(alone, overlapped_s(self.halves.layers, works, sends))
        return float(alone + self.at(batch, self.head_s))

    def prefill_s(self, prompt_tokens: float, prompts: float = 1.0, network_s: float = 0.0) -> float:
        """Return the prefill time of prompts of equal length, given their total tokens."""
        pairs_s = self.prefill_s_per_pair * prompt_tokens * prompt_tokens / prompts / 2
        alone = self.at(prompt_tokens, self.prefill_base_s) + pairs_s + network_s
        if self.halves:
            works = self.at(prompt_tokens, self.halves.prefill_works_s) + pairs_s
            sends = self.at(prompt_tokens, self.halves.prefill_sends_s) + network_s
            alone = min(alone, overlapped_s(self.halves.layers, works, sends))
        return float(alone + self.at(prompts, self.head_s))

    def with_network(self, decode_s: Floats, prefill_s: Floats) -> StepTable:
        """Return the table with network times at its points, array (points,), added to both kinds of steps."""
        base_s, prefill_base_s, halves = self.base_s + decode_s, self.prefill_base_s + prefill_s, self.halves
        if halves:
            halves = replace(
                halves,
                decode_sends_s=halves.decode_sends_s + decode_s,
                prefill_sends_s=halves.prefill_sends_s + prefill_s,
            )
            base_s = np.minimum(
                base_s, overlapped_s(halves.layers, halves.decode_works_s, halves.decode_sends_s)
            )
            prefill_base_s = np.minimum(
                prefill_base_s, overlapped_s(halves.layers, halves.prefill_works_s, halves.prefill_sends_s)
            )
        return replace(self, base_s=base_s, prefill_base_s=prefill_base_s, halves=halves)

    def at(self, tokens: Floats | float, column: Floats) -> Floats:
        """Return entries of a column, interpolated linearly.

        Raises
        ------
        InvalidInput
            Beyond the last of them, where nothing is known.
        """
        most = int(self.tokens[-1])
        if np.max(tokens) > most:
            raise InvalidInput(
                f"a step of {float(np.max(tokens)):,.0f} tokens: step times end at {most:,}; take shorter prompts, "
                "fewer requests at once, or more copies of attention"
            )
        return np.asarray(np.interp(tokens, self.tokens, column))
