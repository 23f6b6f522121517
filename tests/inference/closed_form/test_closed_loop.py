"""A closed loop of clients: Little's law, monotone times, and speed over columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.catalog import find_accelerator
from topoopt.inference import ClosedLoop, EngineSettings, Parallelism, closed_loop, replica, stacked
from topoopt.inference.queueing import mixed_prompt_s
from topoopt.inference.step.constants import ServedStack, shipped_constants
from topoopt.inference.step.law import prompt_step_s
from topoopt.workloads.transformer import find_transformer

MODELS = ("llama3-8b", "llama3-70b", "qwen3-235b-a22b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-397b-a17b")


def loop(name: str, part: str, tensor: int, clients: np.ndarray, prompt: np.ndarray) -> ClosedLoop:
    model, accelerator, fp8 = find_transformer(name), find_accelerator(part), EngineSettings("fp8", "fp8")
    one = stacked([replica(model, accelerator, Parallelism(tensor), fp8)] * len(clients))
    law = shipped_constants(ServedStack(model, accelerator, fp8))
    return closed_loop(one, law, clients, prompt, 512.0, 1e9)


@settings(max_examples=40)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(("h100", "h200", "b200")),
    st.sampled_from((1, 2, 4, 8)),
    st.floats(1, 512),
    st.floats(16, 30000),
)
def test_a_token_takes_longer_with_more_clients_and_longer_prompts(
    name: str, part: str, tensor: int, clients: float, prompt: float
) -> None:
    found = loop(name, part, tensor, clients * np.array([1, 1.5, 1]), prompt * np.array([1, 1, 1.5]))
    assert found.tpot_s[1] >= found.tpot_s[0] * (1 - 1e-12)
    assert found.tpot_s[2] >= found.tpot_s[0] * (1 - 1e-12)
    assert found.ttft_s[2] >= found.ttft_s[0] * (1 - 1e-12)


def test_clients_are_the_throughput_times_their_whole_time() -> None:
    clients = np.array([1.0, 7.0, 64.0, 300.0])
    found = loop("llama3-70b", "h100", 4, clients, np.full(4, 2000.0))
    assert found.requests_per_s * (found.ttft_s + 511 * found.tpot_s) == pytest.approx(clients)


def test_a_short_prompt_in_a_large_batch_takes_less_than_a_step_of_its_own() -> None:
    """Weights are read once for the requests that decode and for the prompt; a long prompt takes its arithmetic."""
    model, accelerator, fp8 = (
        find_transformer("llama3-70b"),
        find_accelerator("h100"),
        EngineSettings("fp8", "fp8"),
    )
    one = replica(model, accelerator, Parallelism(4), fp8)
    law = shipped_constants(ServedStack(model, accelerator, fp8))
    short, long = (float(mixed_prompt_s(one, law, 64.0, tokens)[0]) for tokens in (128.0, 16384.0))
    assert short < 0.2 * prompt_step_s(one, law, 128.0)[0]
    assert long == pytest.approx(prompt_step_s(one, law, 16384.0)[0] - law.prompt_step_s, rel=0.1)


def test_a_hundred_thousand_configurations_have_a_time() -> None:
    generator = np.random.default_rng(0)
    clients, prompt = generator.uniform(1, 512, 100_000), generator.uniform(16, 8192, 100_000)
    assert np.isfinite(loop("deepseek-v3", "h200", 8, clients, prompt).tpot_s).all()
