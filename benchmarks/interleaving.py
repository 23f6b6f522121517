"""Circles that are turned: two jobs, four exactly, and eight by descent."""

from collections.abc import Iterator

import numpy as np

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.clusters.interleave import (
    CommunicationProfile,
    Phase,
    compatibility_score,
    interleave,
    unified_circle,
)

LINK_BPS = 50e9
VGG16 = CommunicationProfile("vgg16", 0.255, (Phase(0.141, 0.114, 45e9),))
MANY = 100
"""Calls that are timed at once."""


def drawn_jobs(count: int, phases: int) -> list[CommunicationProfile]:
    """Return jobs of 255 ms with phases and rates at random."""
    rng = np.random.default_rng(1)
    jobs = []
    for number in range(count):
        edges = np.sort(rng.choice(255, 2 * phases, replace=False)).reshape(-1, 2) / 1e3
        sends = tuple(Phase(start, end - start, rng.uniform(5e9, LINK_BPS)) for start, end in edges.tolist())
        jobs.append(CommunicationProfile(f"job {number}", 0.255, sends))
    return jobs


def scores() -> None:
    for _ in range(MANY):
        circle = unified_circle([VGG16, VGG16])
        compatibility_score(circle.rotated_bps((0, 36)), LINK_BPS)


def pairs() -> None:
    for _ in range(MANY):
        interleave([VGG16, VGG16], LINK_BPS)


def figures() -> Iterator[Figure]:
    yield Figure("score of two jobs, 5 degrees", best_cpu_seconds(scores) / MANY, "CPU s", 0.001)
    yield Figure("two jobs interleaved, 5 degrees", best_cpu_seconds(pairs) / MANY, "CPU s", 0.001)
    for phases in (1, 3):
        four, eight = drawn_jobs(4, phases), drawn_jobs(8, phases)
        what = f"{phases} phase{'s' * (phases > 1)} each"
        exact = best_cpu_seconds(lambda four=four: interleave(four, LINK_BPS))  # type: ignore[misc]
        yield Figure(f"four jobs x 72 angles, exact, {what}", exact, "CPU s", 0.2)
        descent = best_cpu_seconds(lambda eight=eight: interleave(eight, LINK_BPS))  # type: ignore[misc]
        yield Figure(f"eight jobs x 72 angles, descent, {what}", descent, "CPU s", 2.0)
