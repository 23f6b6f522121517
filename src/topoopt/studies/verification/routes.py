"""Routes: every pair has paths, each from its source to its destination over links that there are, no server twice."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Routed, Subject

_SAME = 1e-6
_MOST_SHOWN = 8  # nodes of a path that a message repeats


def check_routes(subject: Subject) -> Check:
    """Return whether every path of every pair leads there, without going round."""
    if subject.no_routes:
        return Check("routes", skipped=subject.no_routes)
    routed = subject.routed
    looked_at = f"{counted(len(routed.listed.weight), 'path')} of {counted(len(routed.src) + len(routed.lost), 'pair')}"
    return checked("routes", looked_at, _wrong_routes(subject, routed))


def check_weights(subject: Subject) -> Check:
    """Return whether the weights of the paths of every pair are positive and sum to 1."""
    if subject.no_routes:
        return Check("weights", skipped=subject.no_routes)
    routed = subject.routed
    return checked("weights", counted(len(routed.src), "pair"), _wrong_weights(subject, routed))


def _wrong_routes(subject: Subject, routed: Routed) -> Iterator[str]:
    paths = routed.listed
    for a, b in routed.lost:
        yield f"pair {subject.pair(a, b)}: no route; give it one"
    empty = np.flatnonzero(np.diff(paths.path_first) == 0)
    for row in empty.tolist():
        yield f"pair {subject.pair(int(routed.src[row]), int(routed.dst[row]))}: no route; give it one"
    if not len(paths.weight):
        return
    pair = routed.pair
    starts, ends = paths.nodes[paths.node_first[:-1]], paths.nodes[paths.node_first[1:] - 1]
    for path in np.flatnonzero((starts != routed.src[pair]) | (ends != routed.dst[pair])).tolist():
        yield (
            f"pair {_pair(subject, routed, path, pair)}: path {_shown(routed, path)} goes from {int(starts[path])} to "
            f"{int(ends[path])}"
        )
    of, src, dst = routed.steps
    for step in np.flatnonzero(subject.step_links < 0).tolist():
        yield (
            f"pair {_pair(subject, routed, int(of[step]), pair)}: path {_shown(routed, int(of[step]))}: there is no "
            f"link {subject.pair(int(src[step]), int(dst[step]))}"
        )
    for path in _with_a_node_twice(routed):
        yield f"pair {_pair(subject, routed, path, pair)}: path {_shown(routed, path)} goes round: a server twice"


def _with_a_node_twice(routed: Routed) -> list[int]:
    paths = routed.listed
    size = np.diff(paths.node_first)
    found: list[int] = []
    for length in np.unique(size).tolist():
        rows = np.flatnonzero(size == length)
        nodes = np.sort(paths.nodes[paths.node_first[rows][:, None] + np.arange(length)], axis=1)
        found += rows[(nodes[:, 1:] == nodes[:, :-1]).any(axis=1)].tolist()
    return sorted(found)


def _wrong_weights(subject: Subject, routed: Routed) -> Iterator[str]:
    pair, weight = routed.pair, routed.listed.weight
    for path in np.flatnonzero(~((weight > 0) & (weight <= 1 + _SAME))).tolist():
        yield f"pair {_pair(subject, routed, path, pair)}: a path of weight {weight[path]:g}; weights are above 0 to 1"
    total = np.bincount(pair, weight, minlength=len(routed.src))
    for row in np.flatnonzero(~(np.abs(total - 1) <= _SAME)).tolist():
        yield (
            f"pair {subject.pair(int(routed.src[row]), int(routed.dst[row]))}: the weights of its paths sum to "
            f"{total[row]:g}, not 1"
        )


def _pair(subject: Subject, routed: Routed, path: int, pair: Ints) -> str:
    return subject.pair(int(routed.src[pair[path]]), int(routed.dst[pair[path]]))


def _shown(routed: Routed, path: int) -> str:
    first, last = routed.listed.node_first[path : path + 2]
    nodes = routed.listed.nodes[first:last].tolist()
    return "-".join(map(str, nodes[:_MOST_SHOWN])) + ("-…" if len(nodes) > _MOST_SHOWN else "")
