"""Damaged .fbuf files: any bytes give a valid graph or one line, never anything else."""

import lzma
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.simulation import flexnet_fabric, flexnet_graph, flexnet_task_graph, parse_fbuf

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
WHOLE = lzma.decompress((GRAPHS / "taskgraph12.fbuf.xz").read_bytes())
WORDS = (b"\0" * 4, b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\1\0\0\0")

near_the_head = st.integers(0, 300)
anywhere = st.integers(0, len(WHOLE) - 4)
place = near_the_head | anywhere
quick = settings(max_examples=150)


def complaint(data: bytes) -> str:
    """Return what is wrong with a file, nothing if it can be played and written."""
    try:
        graph = parse_fbuf(data, "x.fbuf")
        tasks = flexnet_task_graph(graph)
        flexnet_graph(tasks, flexnet_fabric(graph, tasks.groups), drop_rings=True)
    except (InvalidInput, NoRoute) as error:
        return str(error)
    return ""


def whole_or_one_line(data: bytes) -> None:
    said = complaint(data)
    assert "\n" not in said
    assert len(said) < 600


def test_the_whole_file_is_fine() -> None:
    assert complaint(WHOLE) == ""


@given(st.lists(st.tuples(place, st.integers(0, 7)), min_size=1, max_size=20))
@quick
def test_flipped_bits(flips: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, bit in flips:
        data[at] ^= 1 << bit
    whole_or_one_line(bytes(data))


@given(st.lists(st.tuples(place, st.sampled_from(WORDS) | st.binary(min_size=4, max_size=4)), max_size=5))
@quick
def test_other_words(words: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE)
    for at, word in words:
        data[at // 4 * 4 : at // 4 * 4 + 4] = word
    whole_or_one_line(bytes(data))


@given(st.lists(st.tuples(place, anywhere), min_size=1, max_size=4))
@quick
def test_distances_that_lead_elsewhere(jumps: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, to in jumps:
        here = at // 4 * 4
        data[here : here + 4] = ((to - here) % 2**32).to_bytes(4, "little")
    whole_or_one_line(bytes(data))


@given(anywhere)
@quick
def test_cut_files(length: int) -> None:
    whole_or_one_line(WHOLE[:length])


@given(st.binary(max_size=400))
@quick
def test_random_bytes(data: bytes) -> None:
    whole_or_one_line(data)


PACKED = (GRAPHS / "taskgraph12.fbuf.xz").read_bytes()


@given(st.integers(0, len(PACKED) - 1), st.integers(0, 7))
@quick
def test_flipped_bits_of_packed_files(at: int, bit: int) -> None:
    data = bytearray(PACKED)
    data[at] ^= 1 << bit
    whole_or_one_line(bytes(data))
