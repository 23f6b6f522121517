"""The simulator beside what queueing theory knows: M/D/1, pipelines of prompts, closed loops, one server's work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.tables import SMALL, constant_table, replicas
from topoopt.inference import EngineSettings, Requests, draw_requests, parse_arrivals, parse_lengths
from topoopt.inference.simulator.fleet import Fleet, uniform_transfer
from topoopt.inference.simulator.run import ServingRun, simulate_serving

PROMPT = 1024


def prompts_alone(stages: int, rate_per_s: float, count: int, seed: int) -> ServingRun:
    """Return a run of prompts whose step takes a second, one at a time, with answers of one token."""
    one = replicas(constant_table(1.0, stages), batch=64, budget=PROMPT)
    fleet = Fleet("disaggregated", one, one, transfer=uniform_transfer(2, 0.0, 1e9, 1.0))
    requests = draw_requests(
        parse_arrivals("poisson"),
        count,
        rate_per_s,
        parse_lengths(PROMPT, "isl"),
        parse_lengths(1, "osl"),
        seed,
    )
    return simulate_serving(fleet, requests)


@pytest.mark.parametrize("stages", [1, 2])
def test_time_to_the_first_token_is_that_of_m_d_1(stages: int) -> None:
    """D + ρD/2(1-ρ); two stages take half of D each: D + λD²/4(2-λD)."""
    busy = 0.5
    rate = busy * stages
    run = prompts_alone(stages, rate, 100_000, seed=3)
    expected = 1 + busy / (2 * (1 - busy)) if stages == 1 else 1 + rate / (4 * (2 - rate))
    # what this sample of arrivals has by itself, over what the law has: the mean rate of the sample
    own = busy * run.requests.rate_per_s / rate
    corrected = run.ttft_s.mean() - 1 / stages * (own / (2 * (1 - own)) - busy / (2 * (1 - busy)))
    assert corrected == pytest.approx(expected, rel=0.01)


@given(st.integers(1, 2), st.integers(0, 10**6), st.floats(0.1, 2.0))
@settings(max_examples=20)
def test_one_server_does_its_work_without_a_break(stages: int, seed: int, rate: float) -> None:
    """Lindley's recursion: a prompt begins when it has come and the one before it has left the first stage."""
    run = prompts_alone(stages, rate, 200, seed)
    free = 0.0
    for came, waited in zip(run.arrival_s, run.queue_s, strict=True):
        begin = max(came, free)
        assert came + waited == pytest.approx(begin, abs=1e-9)
        free = begin + 1.0 / stages


@pytest.mark.parametrize("mode", ["prefill-first", "chunked"])
@pytest.mark.parametrize("clients", [1, 8, 48])
def test_a_closed_loop_has_as_many_requests_as_clients(mode: str, clients: int) -> None:
    """c = X·(TTFT + (o-1)·TPOT), Little's law, from the first request to the last."""
    fleet = Fleet(mode, replicas(SMALL))
    requests = draw_requests(
        parse_arrivals(f"closed:{clients}"),
        40 * clients,
        1.0,
        parse_lengths(256, "isl"),
        parse_lengths(64, "osl"),
        0,
    )
    run = simulate_serving(fleet, requests)
    inside = (run.ttft_s + 63 * np.nan_to_num(run.tpot_s)).sum() / run.end_s
    assert inside <= clients * (1 + 1e-9)
    assert inside == pytest.approx(clients, rel=0.02)  # at the very end there is nothing more to send


def test_a_closed_loop_takes_as_long_as_its_batch_says() -> None:
    """TPOT ≈ t_dec(B) + (B-1)/o·t_prefill, where clients come one by one and not in waves."""
    clients, answer = 8, 512
    requests = draw_requests(
        parse_arrivals(f"closed:{clients}"), 400, 1.0, parse_lengths(128, "isl"),
        parse_lengths(f"uniform:{answer // 2}:{answer * 3 // 2}", "osl"), 1,
    )  # fmt: skip
    run = simulate_serving(Fleet("prefill-first", replicas(SMALL)), requests)
    expected = SMALL.decode_s(clients, clients * (128 + answer / 2)) + (
        clients - 1
    ) / answer * SMALL.prefill_s(128)
    assert np.nanmean(run.tpot_s) == pytest.approx(expected, rel=0.02)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 1000), st.integers(0, 1000))
@settings(max_examples=30)
def test_a_token_takes_no_less_time_in_a_larger_batch_or_behind_a_longer_prompt(
    few: int, more: int, prompt: int, longer: int
) -> None:
    def token_s(together: int, tokens: int) -> float:
        each = np.full(together, tokens)
        run = simulate_serving(
            Fleet("prefill-first", replicas(SMALL, budget=10**6)),
            Requests(np.zeros(together), each, each * 0 + 32),
        )
        return float(run.tpot_s.mean())

    assert token_s(few, prompt) <= token_s(few + more, prompt)
    assert token_s(few, prompt) <= token_s(few, prompt + longer)


def test_speculation_takes_as_many_steps_fewer_as_tokens_are_accepted() -> None:
    requests = Requests(np.zeros(1), np.array([100]), np.array([61]))
    plain, quick = (
        simulate_serving(Fleet("chunked", replicas(constant_table(0.5)), settings=engine), requests)
        for engine in (EngineSettings(), EngineSettings(accepted_tokens=3.0, drafted_tokens=4))
    )
    assert plain.tpot_s[0] == pytest.approx(0.5)
    assert quick.tpot_s[0] == pytest.approx(0.5 / 3)
