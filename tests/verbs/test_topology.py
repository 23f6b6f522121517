"""``topoopt.topology`` answers in Python what the command prints."""

import pytest

import topoopt
from tests.verbs.conftest import Printed, as_json


def test_the_words_are_the_flags(printed: Printed) -> None:
    network = topoopt.topology(servers=16, degree=3, links="directed", strides="nearest")
    flags = ("--servers", "16", "--degree", "3", "--links", "directed", "--strides", "nearest")
    assert printed("topology", *flags) == as_json(network.to_json())


def test_strides_are_text_or_numbers() -> None:
    assert topoopt.topology(12, strides=[1, 5]).to_json() == topoopt.topology(12, 4, strides="1,5").to_json()


def test_every_pair_of_servers_is_in_the_table() -> None:
    table = topoopt.topology(16, 4).to_frame()
    assert table["pairs"].sum() == 16 * 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "degree: missing; give the ports of a server, such as 4"),
        ({"strides": []}, "strides: a stride must be >= 1, got none"),
        ({"strides": [1, 5], "degree": 3}, "strides: 1,5 take 4 duplex ports of a server, got degree=3"),
    ],
)
def test_a_mistake_is_one_sentence_about_the_word(words: dict[str, object], message: str) -> None:
    with pytest.raises(topoopt.InvalidInput) as caught:
        topoopt.topology(16, **words)  # type: ignore[arg-type]
    assert str(caught.value) == message
