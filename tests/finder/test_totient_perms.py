"""TotientPerms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.finder import totient_perms


def test_paper_example() -> None:
    assert totient_perms(12).tolist() == [1, 5, 7, 11]


def test_two_members_have_one_ring() -> None:
    assert totient_perms(2).tolist() == [1]


def test_every_smaller_number_strides_a_prime() -> None:
    assert totient_perms(13).tolist() == list(range(1, 13))


@given(st.integers(2, 200))
def test_exactly_the_strides_that_visit_all_members(size: int) -> None:
    visiting = [p for p in range(1, size) if len({p * j % size for j in range(size)}) == size]
    assert totient_perms(size).tolist() == visiting


def test_a_group_of_one_has_no_ring() -> None:
    with pytest.raises(InvalidInput, match="at least 2 members, got 1"):
        totient_perms(1)


def test_the_strides_are_kept_and_not_written_to() -> None:
    assert totient_perms(30) is totient_perms(30)
    with pytest.raises(ValueError, match="read-only"):
        totient_perms(30)[0] = 2
