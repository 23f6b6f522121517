"""The noun Requests: when each comes, how long its prompt and its answer are, and which blocks of prompts are alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.schema.files import packaged_rows


@dataclass(frozen=True, slots=True)
class Objectives:
    """What users were promised.

    Attributes
    ----------
    ttft_s : float
        Seconds to the first token, at most.
    tpot_s : float
        Seconds for each token after it on average, at most.
    share : float
        Of the requests that have to meet both.
    """

    ttft_s: float
    tpot_s: float
    share: float = 0.9

    def __post_init__(self) -> None:
        for word, value in (("slo_ttft", self.ttft_s), ("slo_tpot", self.tpot_s)):
            if not value > 0:
                raise InvalidInput(f"{word}: expected a time above 0, got {value:g} s")
        if not 0 < self.share <= 1:
            raise InvalidInput(f"slo_share: expected a share above 0 and up to 1, got {self.share:g}")

    def met(self, ttft_s: Floats, tpot_s: Floats) -> Flags:
        """Return of each request whether it meets both; an answer of one token has no time between tokens."""
        return (ttft_s <= self.ttft_s) & ~(np.nan_to_num(tpot_s) > self.tpot_s)


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """Requests on the average, as closed forms see them.

    Attributes
    ----------
    requests_per_s : float
        Of all users together; 0 is the limit of no load.
    prompt_tokens, answer_tokens : float
    """

    requests_per_s: float
    prompt_tokens: float
    answer_tokens: float

    def __post_init__(self) -> None:
        if not 0 <= self.requests_per_s < float("inf"):
            raise InvalidInput(f"rate: expected requests a second >= 0, got {self.requests_per_s:g}")
        for word, value in (("isl", self.prompt_tokens), ("osl", self.answer_tokens)):
            if not 1 <= value < float("inf"):
                raise InvalidInput(f"{word}: expected tokens >= 1, got {value:g}")


LENGTHS_FORM = "TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD"
MOST_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many tokens prompts, or answers, have.

    Attributes
    ----------
    mean : float
    low, high : int
        Of the uniform ones; else 0.
    spread : float
        Standard deviation over mean of the lognormal ones; else 0.
    """

    mean: float
    low: int = 0
    high: int = 0
    spread: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return so many lengths, at least 1 each."""
        if self.high:
            return rng.integers(self.low, self.high, count, np.int64, endpoint=True)
        if not self.spread:
            return np.full(count, round(self.mean), np.int64)
        variance = np.log1p(self.spread**2)
        drawn = rng.lognormal(np.log(self.mean) - variance / 2, np.sqrt(variance), count)
        return np.clip(np.rint(drawn), 1, MOST_TOKENS).astype(np.int64)


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


def parse_lengths(text: str | float, word: str) -> Lengths:
    """Return the lengths that a word says.

    Raises
    ------
    InvalidInput
        With what is allowed.

    Examples
    --------
    >>> parse_lengths("1024", "isl").mean, parse_lengths("uniform:512:1536", "isl").mean
    (1024.0, 1024.0)
    >>> parse_lengths("lognormal:256:0.5", "osl")
    Lengths(mean=256.0, low=0, high=0, spread=0.5)
    """
    kind, *numbers = str(text).split(":")
    try:
        if not numbers:
            return Lengths(_within(float(kind), text, word))
        first, second = map(float, numbers)
    except ValueError:
        raise _wrong(text, word) from None
    if kind == "uniform" and first <= second:
        low, high = (round(_within(number, text, word)) for number in (first, second))
        return Lengths((low + high) / 2, low, high)
    if kind == "lognormal" and 0 < second <= 100:
        return Lengths(_within(first, text, word), spread=second)
    raise _wrong(text, word)


def _within(number: float, text: str | float, word: str) -> float:
    if not 1 <= number <= MOST_TOKENS:
        raise _wrong(text, word)
    return number


def _wrong(text: str | float, word: str) -> InvalidInput:
    return InvalidInput(f"{word}: expected {LENGTHS_FORM} of 1 to {MOST_TOKENS:,} tokens, got {shown(text)}")


ARRIVALS_FORM = "poisson|gamma:CV|closed:CLIENTS"
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
        f"arrivals: expected {ARRIVALS_FORM}, a variation from 0.01 to 100 or a number of clients, got {shown(text)}"
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


@cache
def objective_presets() -> Mapping[str, Objectives]:
    """Return named objectives, ``inference/data/objectives.csv``: those of MLPerf Inference, with their sources."""
    return {
        row["name"]: Objectives(float(row["ttft_s"]), float(row["tpot_s"]), float(row["share"]))
        for row in packaged_rows("inference", "objectives")
    }
