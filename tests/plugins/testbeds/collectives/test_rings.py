"""Rings along strides, and what is no set of rings."""

import subprocess
import sys

import pytest

from topoopt.base.errors import InvalidInput


def rings() -> object:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[testbed]")
    from topoopt.plugins.testbeds.collectives import rings as module  # noqa: PLC0415 - needs PyTorch

    return module


def test_a_ring_goes_from_each_rank_to_the_one_a_stride_on() -> None:
    from_strides = rings().rings_of_strides(range(12), (1, 5, 7, 11))  # type: ignore[attr-defined]
    for stride, ring in zip((1, 5, 7, 11), from_strides, strict=True):
        assert sorted(ring) == list(range(12))
        assert all((a + stride) % 12 == b for a, b in zip(ring, (*ring[1:], ring[0]), strict=True))


def test_strides_count_places_and_not_ranks() -> None:
    assert rings().rings_of_strides((3, 9, 4), (2,)) == ((3, 4, 9),)  # type: ignore[attr-defined]


def test_a_stride_that_misses_ranks_is_refused() -> None:
    with pytest.raises(InvalidInput, match="strides: 4 and 6 ranks have a factor in common"):
        rings().rings_of_strides(range(6), (1, 4))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "rings: expected 1..64 of them, got 0"),
        ([[0, 1]] * 65, "rings: expected 1..64 of them, got 65"),
        ([[0, 1, 1]], "rings: expected each rank once in ring 0"),
        ([[]], "rings: expected each rank once in ring 0"),
        ([[0, 1], [0, 2]], "rings: ring 1 has other ranks than ring 0"),
    ],
)
def test_rings_that_cannot_share_an_allreduce_are_refused(given: list[list[int]], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        rings().checked_rings(given)  # type: ignore[attr-defined]


def test_without_pytorch_one_line_says_how_to_get_it() -> None:
    program = "import sys; sys.modules['torch'] = None; import topoopt.plugins.testbeds.collectives"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: topoopt.plugins.testbeds.collectives: PyTorch is not installed; "
        'pip install "topoopt[testbed]"'
    )
