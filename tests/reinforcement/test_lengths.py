"""Lengths of answers: the law has its mean, files are read, mistakes are one line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.reinforcement import lognormal_lengths, read_lengths


@given(share=st.floats(0.01, 0.99), maximum=st.integers(256, 40_000), spread=st.floats(0.1, 1.5))
def test_the_mean_is_the_one_asked_for_and_none_is_longer_than_the_limit(
    share: float, maximum: int, spread: float
) -> None:
    mean = max(20.0, share * maximum)
    lengths = lognormal_lengths(2000, mean, maximum, spread)
    assert lengths.longest <= maximum
    assert lengths.mean == pytest.approx(mean, rel=0.03)


def test_without_spread_all_are_alike() -> None:
    assert set(lognormal_lengths(10, 500, 1000, 0.0).tokens.tolist()) == {500}


def test_a_mean_at_the_limit_cuts_every_answer_off() -> None:
    assert lognormal_lengths(5, 1000, 1000).tokens.tolist() == [1000] * 5


def test_replicas_share_answers_out_and_the_first_has_the_longest() -> None:
    lengths = lognormal_lengths(100, 300, 1000)
    parts = [lengths.tokens[start::4] for start in range(4)]
    assert lengths.of_replica(4).tokens.tolist() == parts[0].tolist()
    assert parts[0].sum() == max(part.sum() for part in parts)


def test_the_order_of_arrival_is_all_answers_mixed() -> None:
    lengths = lognormal_lengths(64, 300, 1000)
    mixed = lengths.in_order_of_arrival()
    assert sorted(mixed) == sorted(lengths.tokens)
    assert np.abs(np.diff(mixed)).mean() > 10 * np.abs(np.diff(lengths.tokens)).mean()


def test_a_file_gives_its_quantiles(tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("tokens\n100\n300\n\n200\n")
    assert read_lengths(path, 6).tokens.tolist() == [300, 300, 200, 200, 100, 100]
    assert read_lengths(path, 1).tokens.tolist() == [200]


@pytest.mark.parametrize(
    ("text", "words"),
    [("100\nmany\n", "line 2"), ("", "no lengths"), ("0\n", "line 1"), ("tokens\n", "no lengths")],
)
def test_a_file_that_is_wrong_is_told_where(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_lengths(path, 4)


@pytest.mark.parametrize(
    ("mean", "spread"), [(0.0, 0.9), (1001.0, 0.9), (500.0, -1.0), (500.0, float("nan"))]
)
def test_means_and_spreads_out_of_range_are_refused(mean: float, spread: float) -> None:
    with pytest.raises(InvalidInput):
        lognormal_lengths(10, mean, 1000, spread)
