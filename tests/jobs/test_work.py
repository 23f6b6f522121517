"""A job's work is one of a few kinds, all asked the same questions, and every room has an answer for each kind."""

from collections.abc import Mapping

import numpy as np
import pytest

from tests.jobs.training_jobs import small_training_job
from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec
from topoopt.jobs import (
    Job,
    JobSettings,
    job_on,
    job_traffic,
    make_job,
    operators_of,
    traffic_job,
    transformer_of,
)
from topoopt.pages.plan_facts import WORK_PAGES
from topoopt.plans.plan_file import WORK_PARTS
from topoopt.search import starting_strategy, task_graph_of
from topoopt.search.candidates.candidate import TASK_GRAPHS
from topoopt.search.caveats import CAVEATS
from topoopt.search.planner import SEARCHES
from topoopt.workloads import load_model
from topoopt.workloads.traffic import traffic_from_matrix

CLUSTER = ClusterSpec(8, 4, 100e9)


def jobs() -> dict[str, Job]:
    """One job of each kind on eight servers."""
    return {
        "operators": make_job(load_model("dlrm", servers=8), CLUSTER, JobSettings()),
        "traffic": traffic_job("shuffle", traffic_from_matrix(1e6 * (1 - np.eye(8))), CLUSTER),
        "transformer": small_training_job(),
    }


@pytest.mark.parametrize("table", [TASK_GRAPHS, SEARCHES, CAVEATS, WORK_PARTS, WORK_PAGES])
def test_every_table_of_a_room_has_every_kind_of_work(table: Mapping[str, object]) -> None:
    assert set(table) == {job.work.kind for job in jobs().values()}


@pytest.mark.parametrize("kind", ["operators", "traffic", "transformer"])
def test_what_the_plain_strategy_moves_is_what_its_task_graph_is_made_of(kind: str) -> None:
    job = jobs()[kind]
    strategy = job.work.plain_strategy(8)
    assert job.work.kind == kind
    assert starting_strategy(job) == strategy
    traffic, graph = job_traffic(job, strategy), task_graph_of(job, strategy)
    assert graph.servers == traffic.servers == 8
    assert {group.members for group in traffic.allreduce} <= set(graph.groups)
    assert job.work.plain_words


def test_only_a_transformer_has_strategies_to_choose_among_and_they_have_names() -> None:
    made = jobs()
    layouts = made["transformer"].work.choices(8)
    assert [strategy.layout for strategy in layouts] == [0, 1, 2]
    names = [made["transformer"].work.strategy_name(strategy) for strategy in layouts]
    assert names == [layout.name for layout in transformer_of(made["transformer"]).layouts]
    for kind in ("operators", "traffic"):
        work = made[kind].work
        assert work.choices(8) == ()
        assert work.strategy_name(work.plain_strategy(8)) == ""


def test_operators_go_on_fewer_servers_with_as_many_samples_on_each_and_nothing_else_does() -> None:
    made, fewer = jobs(), ClusterSpec(6, 4, 100e9)
    again = job_on(made["operators"], fewer)
    assert again.global_batch / made["operators"].global_batch == 6 / 8
    assert operators_of(again).graph is operators_of(made["operators"]).graph
    with pytest.raises(Infeasible, match="known by its traffic alone"):
        job_on(made["traffic"], fewer)
    with pytest.raises(Infeasible, match="for all 8 servers; plan again for fewer"):
        job_on(made["transformer"], fewer)
