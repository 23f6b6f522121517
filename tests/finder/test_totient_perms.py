"""TotientPerms."""

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.errors import InvalidInput
from topoopt.finder import totient_perms


def test_paper_example() -> None:
    assert totient_perms(12) == (1, 5, 7, 11)


def test_two_members_have_one_ring() -> None:
    assert totient_perms(2) == (1,)


def test_every_smaller_number_strides_a_prime() -> None:
    assert totient_perms(13) == tuple(range(1, 13))


@given(st.integers(2, 200))
def test_exactly_the_strides_that_visit_all_members(size: int) -> None:
    visiting = [p for p in range(1, size) if len({p * j % size for j in range(size)}) == size]
    assert list(totient_perms(size)) == visiting


@given(st.integers(2, 500))
def test_at_scale_one_and_the_primes_are_kept(size: int) -> None:
    primes = [p for p in range(2, size) if all(p % q for q in range(2, p))]
    assert list(totient_perms(size, primes_only=True)) == [1] + [p for p in primes if gcd(p, size) == 1]


def test_a_group_of_one_has_no_ring() -> None:
    with pytest.raises(InvalidInput, match="at least 2 members, got 1"):
        totient_perms(1)
