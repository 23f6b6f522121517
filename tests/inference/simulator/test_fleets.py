"""What happens to replicas: failures, changes of pools, routers, prefixes; nothing is lost and nothing overfilled."""

import numpy as np
import pytest

from tests.inference.simulator.test_reference import check_laws
from tests.inference.tables import SMALL, replicas
from topoopt.base.errors import InvalidInput
from topoopt.inference import EngineSettings, Requests, RoleRule, draw_requests, parse_arrivals, parse_lengths
from topoopt.inference.simulator.fleet import Failure, Fleet, uniform_transfer
from topoopt.inference.simulator.kernel.layout import Replica
from topoopt.inference.simulator.run import simulate_serving

ENGINE = EngineSettings(prefix_cache=True)


def some(count: int, rate: float, prompt: int, answer: int) -> Requests:
    lengths = parse_lengths(prompt, "isl"), parse_lengths(f"uniform:2:{2 * answer}", "osl")
    return draw_requests(parse_arrivals("poisson"), count, rate, *lengths, 0)


def test_a_failure_delays_requests_and_loses_none() -> None:
    asked = some(200, 4.0, 256, 32)
    for mode in ("chunked", "disaggregated"):
        apart = replicas(SMALL, 2) if mode == "disaggregated" else None
        way = uniform_transfer(4, 1e-3, 1e9, 1e5) if apart else None
        whole = Fleet(mode, replicas(SMALL, 2), apart, transfer=way)
        failures = tuple(Failure(replica, 10.0, 20.0) for replica in ((0, 2) if apart else (0,)))
        broken = Fleet(mode, replicas(SMALL, 2), apart, transfer=way, failures=failures)
        before, after = (simulate_serving(fleet, asked) for fleet in (whole, broken))
        check_laws(after)
        assert after.ttft_s.mean() > before.ttft_s.mean()
        assert after.preempted.sum() > 0


def test_requests_wait_for_a_replica_where_all_are_down() -> None:
    run = simulate_serving(
        Fleet("chunked", replicas(SMALL), failures=(Failure(0, 0.5, 9.0),)), some(20, 4.0, 64, 8)
    )
    check_laws(run)
    late = run.arrival_s > 0.5
    assert (run.ttft_s[late] >= 9.0 - run.arrival_s[late]).all()


def test_a_replica_that_answers_goes_over_to_read_when_prompts_pile_up() -> None:
    asked = some(300, 6.0, 2000, 4)
    fixed = Fleet(
        "disaggregated", replicas(SMALL, 3), replicas(SMALL, 1), transfer=uniform_transfer(4, 1e-3, 1e9, 1e5)
    )
    moving = Fleet(
        "disaggregated", fixed.decode, fixed.prefill, transfer=fixed.transfer, roles=RoleRule(1.0, 2.0, 4000)
    )
    before, after = simulate_serving(fixed, asked), simulate_serving(moving, asked)
    check_laws(after)
    readers = int((after.state.replica[:, Replica.POOL] == 0).sum())
    assert readers > 1
    assert after.ttft_s.mean() < before.ttft_s.mean()


def prefixes(count: int = 120) -> Requests:
    """Return requests of four conversations whose prompts begin with the same 2,048 tokens each."""
    rng = np.random.default_rng(0)
    talk = rng.integers(0, 4, count)
    blocks = (talk[:, None] * 4 + np.arange(4)).ravel()
    return Requests(
        np.arange(count, dtype=np.float64) * 0.5,
        np.full(count, 2200),
        np.full(count, 8),
        np.arange(count + 1) * 4,
        blocks,
    )


def test_prefixes_that_are_kept_are_not_read_again() -> None:
    asked = prefixes()
    none, kept = (
        simulate_serving(Fleet("chunked", replicas(SMALL), settings=engine), asked)
        for engine in (EngineSettings(), ENGINE)
    )
    check_laws(kept)
    assert none.hit_share == 0
    assert kept.hit_share == pytest.approx(
        116 * 2048 / (120 * 2200)
    )  # all but the first of each conversation
    assert kept.ttft_s.mean() < none.ttft_s.mean()


def test_a_router_that_looks_for_prefixes_finds_more_of_them() -> None:
    """Each replica has room for two of the four conversations."""
    asked = prefixes()
    shares = {
        router: simulate_serving(
            Fleet("chunked", replicas(SMALL, 2, 420), settings=ENGINE, router=router), asked
        )
        for router in ("round-robin", "prefix-aware")
    }
    assert shares["prefix-aware"].hit_share > 1.2 * shares["round-robin"].hit_share


def test_a_router_that_knows_the_network_sends_caches_where_they_arrive_first() -> None:
    way = uniform_transfer(3, 1e-3, 1e8, 1e5)
    way.bytes_per_s[:, 2] = 1e7
    asked = some(60, 0.5, 512, 8)
    near, far = (
        simulate_serving(
            Fleet("disaggregated", replicas(SMALL, 2), replicas(SMALL), transfer=way, router=router), asked
        )
        for router in ("network-aware", "round-robin")
    )
    assert near.transfer_s.mean() < far.transfer_s.mean()
    assert near.ttft_s.mean() < far.ttft_s.mean()


def test_layers_sent_while_others_are_read_leave_the_last_one_to_wait_for() -> None:
    """max(b/l, b - p (l-1)/l) of b seconds of bytes, p of reading and l layers."""
    asked = Requests(np.zeros(1), np.array([1024]), np.array([2]))
    for bytes_per_s in (1e9, 1e7):
        one = replicas(SMALL)
        way = uniform_transfer(2, 0.25, bytes_per_s, 1e4, layers=8)
        run = simulate_serving(Fleet("disaggregated", one, one, transfer=way), asked)
        sent, read = 1024 * 1e4 / bytes_per_s, float(run.prefill_s[0])
        assert run.transfer_s[0] == pytest.approx(0.25 + max(sent / 8, sent - read * 7 / 8))


def test_a_request_that_no_replica_could_hold_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="one has 2,208 tokens with its answer, but a replica's memory holds 1,600"
    ):
        simulate_serving(Fleet("chunked", replicas(SMALL, pages=100)), prefixes())
