"""A word has a text below it, a heading, and perhaps a default; words that are given are checked and filled up."""

from typing import Annotated, TypedDict

import pytest

import topoopt.schema.words
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import MOST
from topoopt.schema.words import File, Rate, Word, amount, checked_words, defaults, described, panel, pick


class PlainWords(TypedDict, total=False):
    """Words without a heading of their own."""

    bandwidth: Rate
    """Of one port."""


@panel("Machines")
class MachineWords(PlainWords, total=False):
    """Some words."""

    servers: Annotated[int, Word("N", 4)]
    """How many
    there are."""
    trace: File
    """Where they are listed."""


VOCABULARIES = [
    getattr(topoopt.schema.words, name) for name in vars(topoopt.schema.words) if name.endswith("Words")
]


def test_a_word_is_described_by_the_text_below_it() -> None:
    bandwidth, servers, trace = described(MachineWords)
    assert (bandwidth.text, bandwidth.word.form, bandwidth.panel) == ("Of one port.", "RATE", "Machines")
    assert (servers.text, servers.word.form, servers.kind) == ("How many there are.", "N", int)
    assert (trace.kind, trace.word.default) == (str, None)
    assert described(PlainWords)[0].panel is None


@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda one: one.__name__)
def test_every_word_says_what_it_is(vocabulary: type) -> None:
    words = described(vocabulary)
    assert {word.name for word in words} == set(vocabulary.__annotations__)
    assert all(word.text.endswith(".") for word in words)


def test_limits_are_of_words() -> None:
    known = {name for vocabulary in VOCABULARIES for name in vocabulary.__annotations__}
    assert {"servers", "degree", "tp", "buffer", "runs"} <= known & set(MOST)


def test_words_are_filled_up_and_a_misspelled_one_is_refused() -> None:
    assert defaults(MachineWords) == {"servers": 4}
    assert checked_words({"trace": "a.csv"}, MachineWords) == {"servers": 4, "trace": "a.csv"}
    with pytest.raises(InvalidInput, match='word: unknown name "sevrers"; did you mean servers'):
        checked_words({"sevrers": 4}, MachineWords)


def test_words_are_picked_in_the_order_of_their_vocabulary() -> None:
    words = {"trace": "a.csv", "bandwidth": 1e9, "other": 1}
    assert list(pick(words, MachineWords)) == ["bandwidth", "trace"]
    assert pick(words, PlainWords, ["other"]) == {"bandwidth": 1e9, "other": 1}


def test_an_amount_is_text_or_a_number() -> None:
    assert amount(lambda text, word: float(len(text + word)), "ab", "cd") == 4
    assert amount(lambda text, word: 0.0, 7, "cd") == 7
