"""The circulant family."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.topologies import circulant, circulant_offsets, stride_offsets, torus


def test_duplex_stride_links_both_neighbors() -> None:
    ring = circulant(5, (1,), 10e9)
    assert list(zip(ring.src.tolist(), ring.dst.tolist(), strict=True)) == [
        (0, 1),
        (0, 4),
        (1, 0),
        (1, 2),
        (2, 1),
        (2, 3),
        (3, 2),
        (3, 4),
        (4, 0),
        (4, 3),
    ]
    assert ring.offsets == (1, 4)


def test_directed_stride_links_one_neighbor() -> None:
    ring = circulant(5, (2,), 10e9, links="directed")
    assert ring.dst.tolist() == [2, 3, 4, 0, 1]
    assert ring.offsets == (2,)


def test_repeated_and_mirrored_strides_are_parallel_links() -> None:
    # The released code's choice for n=12, d=6 holds 5 and 7 = -5 (spec section 4).
    wired = circulant(12, (1, 5, 7), 25e9)
    assert wired.ports[wired.link_id(0, 5)] == 2
    assert wired.bandwidth_bps[wired.link_id(0, 5)] == 50e9
    assert wired.ports[wired.link_id(0, 1)] == 1


def test_half_turn_takes_one_duplex_interface() -> None:
    wired = circulant(8, (1, 4), 10e9)
    assert np.bincount(wired.src, weights=wired.ports).tolist() == [3] * 8


def test_two_servers_of_degree_four_have_four_parallel_links() -> None:
    wired = circulant(2, (1, 1, 1, 1), 10e9)
    assert wired.ports.tolist() == [4, 4]
    assert wired.bandwidth_bps.tolist() == [40e9, 40e9]


@given(st.integers(3, 40), st.data())
def test_offsets_are_recognized_from_the_links_alone(servers: int, data: st.DataObject) -> None:
    strides = data.draw(st.lists(st.integers(1, servers - 1), min_size=1, max_size=3))
    links = data.draw(st.sampled_from(["duplex", "directed"]))
    wired = circulant(servers, strides, 10e9, links=links)
    assert (
        circulant_offsets(wired)
        == wired.offsets
        == tuple(sorted(set(stride_offsets(servers, strides, links))))
    )


def test_a_grid_is_not_taken_for_a_circulant() -> None:
    assert circulant_offsets(torus(12, 40e9)) == ()


@pytest.mark.parametrize("stride", [0, 12, -24])
def test_stride_to_oneself_is_refused(stride: int) -> None:
    with pytest.raises(InvalidInput, match=f"stride {stride} joins a server to itself"):
        circulant(12, (1, stride), 10e9)


def test_no_stride_and_unknown_link_model_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no stride given"):
        circulant(12, (), 10e9)
    with pytest.raises(InvalidInput, match="did you mean duplex"):
        circulant(12, (1,), 10e9, links="duplx")
