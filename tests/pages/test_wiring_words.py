"""A wiring in words: cables are counted, and half way around there is one neighbor, not two."""

from topoopt.pages.wiring_page import wiring_words
from topoopt.topologies import stride_offsets


def test_a_stride_half_way_around_has_one_neighbor() -> None:
    assert (
        wiring_words(12, stride_offsets(12, (1, 6), "duplex"), "duplex")
        == "server i to i ± 1, i + 6 (mod 12)"
    )


def test_parallel_cables_are_counted() -> None:
    assert (
        wiring_words(3, stride_offsets(3, (1, 1), "duplex"), "duplex")
        == "server i to i ± 1 by 2 cables (mod 3)"
    )
    assert wiring_words(12, stride_offsets(12, (5, 7), "duplex"), "duplex") == (
        "server i to i ± 5 by 2 cables (mod 12)"
    )


def test_a_directed_link_has_one_sign() -> None:
    assert (
        wiring_words(7, stride_offsets(7, (1, 5), "directed"), "directed")
        == "server i to i + 1, i + 5 (mod 7)"
    )
