"""A transformer among the jobs: its closed form spares plans, its tokens have a price."""

import pytest

from tests.studies.choice.test_choose import here
from topoopt.pricing import OwnershipTerms, Running, pricing_of, server_price
from topoopt.studies.choice import Machines, Owner, Question, Store, choose, network_grid, read_mix


def test_a_transformer_is_planned_and_its_tokens_cost_money(tmp_path: object) -> None:
    machines = Machines(2, "h100", 8, 3.6e12)
    owner = Owner(2, pricing_of(), OwnershipTerms(Running(5.0, 0.1), server_price("h100", 8)))
    networks = network_grid(2, (1, 4), (400e9,), ("topoopt", "ideal-switch"))
    asked = Question(read_mix(["llama3-8b"]), networks, machines, owner)
    found = choose(asked, Store(f"{tmp_path}/plans.duckdb", here))
    assert {point.status for point in found.points} <= {"planned", "dropped"}
    (job,) = found.jobs
    assert job.iteration.tokens == job.iteration.samples * 8192
    assert job.owned.usd_per_hour is not None
    assert job.owned.usd_per_token == pytest.approx(
        job.owned.usd_per_hour / 3600 * job.iteration.time_s / job.iteration.tokens
    )
    for point in found.points:
        for time_s in point.times_s:
            assert time_s > 0
