"""Moves lead from some circuits to others with as many ends as possible left where they are."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plans.inventory import Circuit, Move, circuits, completed, moves

SERVERS = 8
ROOM = Wiring("duplex", 1)


def joined(wiring: Wiring, pairs: set[tuple[int, int]], kind: str = "manual") -> tuple[Circuit, ...]:
    patches = [wiring.joined((a, 0), (b, 0)) for a, b in sorted(pairs)]
    return circuits(completed(wiring, SERVERS, kind=kind), wiring, patches)


def named(old: set[tuple[int, int]], new: set[tuple[int, int]], wiring: Wiring = ROOM) -> tuple[Move, ...]:
    before, after = joined(wiring, old - new), joined(wiring, new - old)
    return moves(completed(wiring, SERVERS), before, after)


def played(old: set[tuple[int, int]], made: tuple[Move, ...], duplex: bool) -> set[tuple[int, int]]:
    """Pull out everything, then plug everything in, by port numbers alone."""

    def way(a: int, b: int) -> tuple[int, int]:
        return (min(a, b), max(a, b)) if duplex else (a, b)

    left = {(a + 1, b + 1) for a, b in old}
    come = []
    for move in made:
        port = move.cable.port
        sends = duplex or move.cable.side == "out"
        if move.old is not None:
            left.remove(way(port, move.old.port) if sends else way(move.old.port, port))
        if move.new is not None:
            come.append(way(port, move.new.port) if sends else way(move.new.port, port))
    for one in come:
        ports = [{one[0]}, {one[1]}] if not duplex else [set(one), set(one)]
        assert not ports[0] & {pair[0] for pair in left} or duplex
        assert not duplex or not ports[0] & {port for pair in left for port in pair}
        left.add(one)
    return {(a - 1, b - 1) for a, b in left}


matchings = st.permutations(range(SERVERS)).flatmap(
    lambda order: st.integers(0, SERVERS // 2).map(
        lambda pairs: {tuple(sorted(order[2 * k : 2 * k + 2])) for k in range(pairs)}
    )
)


@given(matchings, matchings)
def test_moves_lead_to_the_new_circuits(old: set[tuple[int, int]], new: set[tuple[int, int]]) -> None:
    made = named(old, new)
    assert played(old, made, duplex=True) == new


@given(st.permutations(range(SERVERS)), st.permutations(range(SERVERS)))
def test_fibers_one_way_move_likewise(first: list[int], second: list[int]) -> None:
    wiring = Wiring("directed", 1)
    old, new = ({(a, b) for a, b in enumerate(order) if a != b} for order in (first, second))
    assert played(old, named(old, new, wiring), duplex=False) == new


@given(matchings, matchings)
def test_as_many_ends_as_possible_stay(old: set[tuple[int, int]], new: set[tuple[int, int]]) -> None:
    """A largest matching between what goes and what comes, by trying all subsets."""
    gone, come = sorted(old - new), sorted(new - old)
    best = 0
    for choice in product((None, 0, 1), repeat=len(come)):
        taken = [
            next((pair for pair in gone if one[end] in pair), None)
            for one, end in zip(come, choice, strict=True)
            if end is not None
        ]
        if None not in taken and len(set(taken)) == len(taken):
            best = max(best, len(taken))
    assert sum(move.action == "move" for move in named(old, new)) == best


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "manual",
            "panel0: move the cord of port 1 (C0001, srv000 ens1f0) from port 2 to port 3 (C0003, srv002 ens1f0)",
        ),
        (
            "polatis",
            "panel0: switch port 1 (C0001, srv000 ens1f0) from port 2 to port 3 (C0003, srv002 ens1f0)",
        ),
    ],
)
def test_a_move_is_a_sentence(kind: str, said: str) -> None:
    room = completed(ROOM, SERVERS, kind=kind)
    old, new = (circuits(room, ROOM, [Patch(0, 0, b, 0)]) for b in (1, 2))
    assert [str(move) for move in moves(room, old, new)] == [said]


def test_what_only_comes_or_goes_is_plugged_or_unplugged() -> None:
    texts = [str(move) for move in named({(0, 1)}, {(2, 3)})]
    assert texts == [
        "panel0: unplug the cord from port 1 (C0001, srv000 ens1f0) to port 2 (C0002, srv001 ens1f0)",
        "panel0: plug a cord from port 3 (C0003, srv002 ens1f0) to port 4 (C0004, srv003 ens1f0)",
    ]
