"""Arrivals and lengths have the means and spreads that were asked for, and the same seed gives the same."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.inference import draw_requests, parse_arrivals, parse_lengths


@pytest.mark.parametrize(("word", "variation"), [("poisson", 1.0), ("gamma:2.5", 2.5), ("gamma:0.3", 0.3)])
def test_times_between_arrivals_have_mean_and_variation(word: str, variation: float) -> None:
    lengths = parse_lengths(100, "isl")
    requests = draw_requests(parse_arrivals(word), 200_000, 8.0, lengths, lengths, 0)
    between = np.diff(requests.arrival_s)
    assert between.mean() == pytest.approx(1 / 8, rel=0.02)
    assert between.std() / between.mean() == pytest.approx(variation, rel=0.02)


@pytest.mark.parametrize(
    ("word", "mean", "deviation"),
    [("512", 512, 0), ("uniform:100:300", 200, 200 / 12**0.5), ("lognormal:1024:0.5", 1024, 512)],
)
def test_lengths_have_mean_and_spread(word: str, mean: float, deviation: float) -> None:
    drawn = parse_lengths(word, "isl").draw(200_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert drawn.std() == pytest.approx(deviation, rel=0.02, abs=0.3)


def test_another_rate_brings_the_same_requests_sooner() -> None:
    lengths = parse_lengths("lognormal:100:1", "isl")
    slow, fast = (
        draw_requests(parse_arrivals("poisson"), 50, rate, lengths, lengths, 7) for rate in (1.0, 4.0)
    )
    assert (slow.input_tokens == fast.input_tokens).all()
    assert slow.at_rate(4.0).arrival_s.tolist() == fast.arrival_s.tolist()


def test_repeated_requests_go_on_at_the_same_rate() -> None:
    lengths = parse_lengths(10, "isl")
    once = draw_requests(parse_arrivals("poisson"), 1000, 2.0, lengths, lengths, 0)
    thrice = once.repeated(3)
    assert len(thrice) == 3000
    assert thrice.rate_per_s == pytest.approx(once.rate_per_s, rel=0.01)


@pytest.mark.parametrize("word", ["normal", "gamma", "gamma:0", "closed:x", "closed:0", "poisson:3"])
def test_other_arrivals_are_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match=r"arrivals: expected poisson\|gamma:CV\|closed:CLIENTS"):
        parse_arrivals(word)


@pytest.mark.parametrize("word", ["0", "-5", "many", "uniform:5:2", "uniform:5", "lognormal:5:0", "1e9"])
def test_other_lengths_are_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="isl: expected TOKENS"):
        parse_lengths(word, "isl")


@pytest.mark.parametrize("word", ["1.5", 1.5, "uniform:1.5:3"])
def test_lengths_are_whole_tokens(word: str | float) -> None:
    with pytest.raises(InvalidInput, match=f"isl: expected whole tokens, got .*{word}"):
        parse_lengths(word, "isl")
