"""The affinity graph: a chain, what holds on random forests, and loops as networkx sees them."""

import math
import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.clusters.interleave import AffinityEdge, AffinityGraph


@st.composite
def forests(draw: st.DrawFn) -> AffinityGraph:
    """A graph without loops: every link joins a job that is there with jobs that are new."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    pairs: list[tuple[str, str]] = []
    jobs: list[str] = []
    for tree, joined in enumerate(
        draw(st.lists(st.lists(st.integers(1, 3), max_size=6), min_size=1, max_size=3))
    ):
        here = [f"{tree}.0"]
        for number, count in enumerate(joined):
            new = [f"{tree}.{len(here) + k}" for k in range(count)]
            pairs += [(job, f"link {tree}.{number}") for job in (chance.choice(here), *new)]
            here += new
        jobs += here
    chance.shuffle(jobs)
    chance.shuffle(pairs)
    edges = tuple(AffinityEdge(job, link, chance.uniform(0.0, 10.0)) for job, link in pairs)
    return AffinityGraph({job: 10 ** chance.uniform(-3, 1) for job in jobs}, edges)


def suits(graph: AffinityGraph, link: str, shifts_s: dict[str, float]) -> bool:
    """Whether one constant c of a link makes t_j = w(j, l) + c (mod T_j) true of all its jobs."""
    edges = [edge for edge in graph.edges if edge.link == link]

    def off_s(edge: AffinityEdge, constant_s: float) -> float:
        return abs(
            math.remainder(shifts_s[edge.job] - edge.shift_s - constant_s, graph.iteration_times_s[edge.job])
        )

    constants = [shifts_s[edge.job] - edge.shift_s for edge in edges]
    return any(all(off_s(edge, constant) < 1e-9 for edge in edges) for constant in constants)


@given(forests())
def test_on_every_link_one_constant_explains_the_shifts_of_all_its_jobs(graph: AffinityGraph) -> None:
    assert graph.loop() == ()
    shifts_s = graph.time_shifts_s()
    assert list(shifts_s) == list(graph.iteration_times_s)
    assert all(0 <= shifts_s[job] < time_s for job, time_s in graph.iteration_times_s.items())
    for link in {edge.link for edge in graph.edges}:
        assert suits(graph, link, shifts_s)


@given(forests())
def test_the_first_job_of_a_component_begins_at_once(graph: AffinityGraph) -> None:
    shifts_s = graph.time_shifts_s()
    first = {job.split(".")[0]: job for job in reversed(list(graph.iteration_times_s))}
    assert all(shifts_s[job] == 0 for job in first.values())


def test_three_jobs_in_a_chain() -> None:
    edges = [("1", "a", 30.0), ("2", "a", 20.0), ("2", "b", 40.0), ("3", "b", 10.0)]
    graph = AffinityGraph(dict.fromkeys("123", 1000.0), tuple(AffinityEdge(*edge) for edge in edges))
    assert graph.time_shifts_s() == {"1": 0.0, "2": 990.0, "3": 960.0}


@given(st.data())
def test_a_loop_is_found_exactly_where_there_is_one_and_is_one(data: st.DataObject) -> None:
    jobs = [f"job {k}" for k in range(data.draw(st.integers(1, 6)))]
    links = [f"link {k}" for k in range(data.draw(st.integers(1, 6)))]
    pairs = sorted(data.draw(st.sets(st.tuples(st.sampled_from(jobs), st.sampled_from(links)))))
    graph = AffinityGraph(dict.fromkeys(jobs, 1.0), tuple(AffinityEdge(*pair, 0.1) for pair in pairs))
    known = nx.Graph(pairs)
    known.add_nodes_from(jobs)
    loop = graph.loop()
    assert bool(loop) == (not nx.is_forest(known))
    if loop:
        assert len(set(loop)) == len(loop) >= 4
        assert loop[0] in jobs
        assert all(known.has_edge(*pair) for pair in zip(loop, (*loop[1:], loop[0]), strict=True))
        with pytest.raises(Infeasible, match="loop through job"):
            graph.time_shifts_s()


def test_a_job_may_bear_the_name_of_a_link() -> None:
    graph = AffinityGraph({"a": 1.0, "b": 1.0}, (AffinityEdge("a", "a", 0.25), AffinityEdge("b", "a", 0.5)))
    assert graph.time_shifts_s() == {"a": 0.0, "b": 0.25}


@pytest.mark.parametrize(
    ("times_s", "edges", "says"),
    [
        ({"a": 0.0}, (), "job a: iteration time 0 s"),
        ({"a": math.inf}, (), "job a: iteration time inf s"),
        ({"a": 1.0}, (AffinityEdge("b", "l", 0.0),), "job b on link l: the job has no iteration time"),
        ({"a": 1.0}, (AffinityEdge("a", "l", math.nan),), "job a on link l: shift nan s"),
        ({"a": 1.0}, (AffinityEdge("a", "l", 0.0),) * 2, "job a on link l: is there twice"),
    ],
)
def test_what_cannot_be_a_graph_is_one_line(
    times_s: dict[str, float], edges: tuple[AffinityEdge, ...], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        AffinityGraph(times_s, edges)
