"""Links that are left out change no fair share, and jobs that are looked at apart do not meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.fluid.max_min import max_min_rates
from topoopt.clusters.shared_job import SharedJob
from topoopt.clusters.shared_run import meeting_jobs, shared_links

LINKS = 8


def job(*usages: dict[int, float]) -> SharedJob:
    """A job of which only the links matter: for each usage, what it takes of each link per byte/s."""
    return SharedJob(
        (), (), tuple((np.array(sorted(u), np.int64), np.array([u[k] for k in sorted(u)])) for u in usages)
    )


usages = st.dictionaries(
    st.integers(0, LINKS - 1), st.sampled_from([0.25, 0.5, 1.0, 1.0, 2.0]), min_size=1, max_size=5
)
jobs = st.lists(usages, min_size=1, max_size=3).map(lambda rows: job(*rows))


def rates(rows: list[dict[int, float]]) -> np.ndarray:
    """Fair rates over links of capacity 1."""
    first = np.cumsum([0, *(len(row) for row in rows)])
    link = np.array([m for row in rows for m in sorted(row)], np.int64)
    part = np.array([row[m] for row in rows for m in sorted(row)])
    return max_min_rates(np.ones(link.max() + 1), first, link, part, np.ones(len(rows)))


def kept_rows(found: list[SharedJob]) -> list[dict[int, float]]:
    """Each class with the links that matter, and its ceiling as a link of its own."""
    links = shared_links(found)
    rows = []
    for c, ceiling in enumerate(links.ceiling_bytes_per_s.tolist()):
        mine = slice(links.class_first[c], links.class_first[c + 1])
        row = dict(zip(links.class_link[mine].tolist(), links.coefficient[mine].tolist(), strict=True))
        rows.append({**row, links.links + c: 1.0 / ceiling})
    return rows


@settings(max_examples=300)
@given(st.lists(jobs, min_size=1, max_size=5), st.data())
def test_links_that_are_left_out_change_no_rate(found: list[SharedJob], data: st.DataObject) -> None:
    everything = [
        dict(zip(*map(np.ndarray.tolist, usage), strict=True)) for one in found for usage in one.usages
    ]
    sends = data.draw(st.lists(st.booleans(), min_size=len(everything), max_size=len(everything)))
    chosen = [c for c, active in enumerate(sends) if active] or [0]
    kept = kept_rows(found)
    assert rates([kept[c] for c in chosen]) == pytest.approx(rates([everything[c] for c in chosen]), rel=1e-9)


@settings(max_examples=200)
@given(st.lists(jobs, min_size=2, max_size=6))
def test_jobs_of_different_groups_do_not_disturb_each_other(found: list[SharedJob]) -> None:
    groups = meeting_jobs(found)
    assert sorted(one for group in groups for one in group) == list(range(len(found)))
    rows = [[dict(zip(*map(np.ndarray.tolist, usage), strict=True)) for usage in one.usages] for one in found]
    together = rates([row for one in rows for row in one]).tolist()
    apart: dict[int, list[float]] = {}
    for group in groups:
        mine = iter(rates([row for one in group for row in rows[one]]).tolist())
        apart.update({one: [next(mine) for _ in rows[one]] for one in group})
    assert [rate for one in range(len(found)) for rate in apart[one]] == pytest.approx(together, rel=1e-9)


def test_a_link_with_a_part_of_what_another_carries_is_left_out() -> None:
    # link 0 is used like link 1, and less
    links = shared_links([job({0: 0.5, 1: 1.0}), job({0: 1.0, 1: 1.0, 2: 0.5})])
    assert links.links == 1
    assert links.coefficient.tolist() == [1.0, 1.0]
    assert links.ceiling_bytes_per_s.tolist() == [1.0, 1.0]


def test_jobs_that_cannot_fill_their_link_do_not_meet() -> None:
    assert meeting_jobs([job({0: 1.0, 2: 0.5}), job({1: 1.0, 2: 0.5})]) == [[0], [1]]
    assert meeting_jobs([job({0: 1.0, 2: 0.6}), job({1: 1.0, 2: 0.5})]) == [[0, 1]]


def test_nobody_has_no_links() -> None:
    assert shared_links([]).links == 0
    assert meeting_jobs([]) == []
