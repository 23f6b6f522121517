"""``topoopt.topology`` answers in Python what the command prints."""

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json


def test_the_words_are_the_flags(printed: Printed) -> None:
    network = topoopt.topology(servers=16, degree=3, links="directed", strides="nearest")
    flags = ("--servers", "16", "--degree", "3", "--links", "directed", "--strides", "nearest")
    assert printed("topology", *flags) == as_json(network.to_json())


def test_strides_are_text_or_numbers() -> None:
    assert topoopt.topology(12, strides=[1, 5]).to_json() == topoopt.topology(12, 4, strides="1,5").to_json()


def test_every_pair_of_servers_is_in_the_table() -> None:
    table = topoopt.topology(16, 4, wirings="strides").to_frame()
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


def test_any_wiring_is_looked_at_where_no_strides_are_asked_for() -> None:
    assert isinstance(topoopt.topology(32, 4), topoopt.WiringAnswer)
    asked: list[dict[str, object]] = [{"wirings": "strides"}, {"strides": "nearest"}, {"strides": [1, 7]}]
    for words in asked:
        assert isinstance(topoopt.topology(32, 4, **words), topoopt.RingNetwork)  # type: ignore[arg-type]


@pytest.mark.parametrize("links", ["duplex", "directed"])
@pytest.mark.parametrize(("servers", "degree"), [(2, 1), (2, 4), (3, 2), (5, 4), (6, 8), (5, 1), (6, 2)])
def test_few_servers_have_an_answer_too(servers: int, degree: int, links: str) -> None:
    if links == "duplex" and degree == 1 and servers > 2:
        with pytest.raises(
            topoopt.InvalidInput, match="a duplex ring of 5 takes 2 interfaces a server, got 1"
        ):
            topoopt.topology(servers, degree)
        return
    answer = topoopt.topology(servers, degree, links=links).to_json()
    assert {"average_hops", "diameter", "strides", "moore_average_hops"} <= set(answer)
