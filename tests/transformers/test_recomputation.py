"""Recomputation as a word and as bits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import RECOMPUTED_PARTS, Configuration, configuration_table, recomputation_bits
from topoopt.transformers.configuration import recomputation_word


@given(st.lists(st.sampled_from(RECOMPUTED_PARTS), unique=True))
def test_words_and_bits_are_inverse(parts: list[str]) -> None:
    word = "+".join(parts) or "none"
    bits = recomputation_bits(word)
    assert recomputation_bits(recomputation_word(bits)) == bits


def test_whole_layers_include_their_parts() -> None:
    table = configuration_table([Configuration(1, 1, 1, 1, 1, recompute=word) for word in ("full", "norms")])
    for part in RECOMPUTED_PARTS:
        assert table.recomputes(part).tolist() == [True, part == "norms"]
    assert table.recomputes("full").tolist() == [True, False]


@pytest.mark.parametrize("word", ["some", "core+", "core+x+full"])
def test_unknown_parts_are_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match=r"^recompute[^:]*: unknown name"):
        recomputation_bits(word)


def test_whoever_misspells_one_of_several_parts_learns_of_all_words() -> None:
    with pytest.raises(InvalidInput) as error:
        recomputation_bits("cor+norms")
    assert str(error.value) == (
        'recompute cor+norms: unknown name "cor"; did you mean core or norms? Known: activation, core, experts, '
        "latent, norms; none, selective, full stand alone"
    )


@pytest.mark.parametrize("word", ["selective+norms", "norms+full", "none+core"])
def test_words_that_stand_alone_are_not_joined(word: str) -> None:
    with pytest.raises(InvalidInput, match=r'" stands alone; parts that may be joined by \+: core, norms, '):
        recomputation_bits(word)
