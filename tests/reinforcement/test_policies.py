"""Policies by hand: what a step takes from its phases, how old answers are, what passes and training compute."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from topoopt.catalog import find_accelerator
from topoopt.workloads.transformer import count_parameters, find_transformer

SMALL: dict[str, Any] = {
    "accelerators": 16,
    "prompts": 16,
    "samples": 8,
    "mean_length": 600,
    "max_length": 1500,
    "fabrics": ["none"],
}
MODEL = find_transformer("qwen3-8b")


def step_of(**words: Any) -> topoopt.RlStep:
    return topoopt.rl("qwen3-8b", **{**SMALL, **words})


def test_an_asynchronous_step_is_the_longer_of_a_steady_rollout_and_training_and_the_weights() -> None:
    step = step_of(policy="asynchronous", rollout_accelerators=8, staleness=0.5)
    longer = max(step.rollout.answers_s(step.job), step.training.time_s)
    assert step.step_s == pytest.approx(longer + step.sync_s)


@settings(max_examples=6)
@given(st.floats(0, 3), st.sampled_from([4, 8, 12]))
def test_partial_rollouts_wait_for_no_longest_answer_and_are_older_than_one_step_off(
    staleness: float, rollout: int
) -> None:
    partial = step_of(policy="asynchronous", rollout_accelerators=rollout, staleness=staleness)
    whole = step_of(policy="one-step-off", rollout_accelerators=rollout)
    assert partial.step_s <= whole.step_s + 1e-9
    token_s = partial.rollout.time_s / partial.rollout.played.steps
    by_hand = 1 + partial.job.lengths.longest * token_s / partial.step_s
    assert partial.turns.longest_staleness_steps == pytest.approx(by_hand)
    assert 1 <= partial.turns.staleness_steps <= partial.turns.longest_staleness_steps
    assert whole.turns.staleness_steps == 1


@settings(max_examples=6)
@given(st.sampled_from(["grpo", "ppo"]), st.integers(1, 3), st.booleans())
def test_passes_and_training_take_no_less_than_their_flops_at_the_peak(
    algorithm: str, epochs: int, reference: bool
) -> None:
    """2N of a token forward, 6N trained (Kaplan et al. 2020), for the policy and for the critic of PPO."""
    step = step_of(algorithm=algorithm, epochs=epochs, reference=reference)
    whole = count_parameters(MODEL)
    flops = 2 * (whole.total - whole.embedding) * step.job.tokens
    peak = 16 * find_accelerator("h100").peak_flops("bf16")
    names = ["old log-probs", *["reference"] * reference, *["reward", "critic"] * (algorithm == "ppo")]
    assert list(step.training.forward_s) == names
    assert min(step.training.forward_s.values()) >= flops / peak
    models = 2 if algorithm == "ppo" else 1
    assert step.training.training_s >= 3 * flops / peak * epochs * models
    forward_s = step.training.forward_s["old log-probs"] * epochs * models
    assert 1 / 5 < forward_s / step.training.training_s < 1 / 2  # a third, less the optimizer, more exchanges


def test_other_models_wait_in_the_memory_of_hosts() -> None:
    parameters = count_parameters(MODEL).total
    ppo, grpo = step_of(algorithm="ppo"), step_of(reference=False)
    assert ppo.job.waiting_bytes == (2 + 2 + 16) * parameters  # reference, reward, critic
    assert grpo.job.waiting_bytes == 0
    assert ppo.waiting_bytes_per_server == ppo.job.waiting_bytes / 2
    assert topoopt.rl("qwen3-8b", **{**SMALL, "algorithm": "ppo"}).to_json()["training"][
        "waiting_bytes_per_server"
    ]


def test_an_answer_says_by_itself_whether_circuits_should_change() -> None:
    step = topoopt.rl(
        "qwen3-8b", **{**{word: SMALL[word] for word in SMALL if word != "fabrics"}, "train_tensor": 2}
    )
    assert [row.fabric for row in step.fabrics] == [
        "topoopt",
        "topoopt-ocs",
        "ideal-switch",
        "oversub-fat-tree",
        "rail",
        "expander",
        "torus",
    ]
    assert step_of().fabrics == ()
    assert step_of(accelerators=8).rewiring is None
    found = step.rewiring
    assert found is not None
    assert {"patch-panel", "3d-mems"} <= {one.name for one in found.technologies}
    for one in found.technologies:
        assert one.saved_s == pytest.approx(found.gain_s - one.waited_s)
        assert one.waited_s <= found.changes * one.delay_s + 1e-12


@pytest.mark.parametrize("policy", ["colocated", "one-step-off", "asynchronous"])
@pytest.mark.parametrize("bandwidth", ["400Gbps", "10Gbps"])
def test_what_changes_save_is_what_a_step_on_changing_circuits_is_shorter(
    policy: str, bandwidth: str
) -> None:
    words = {**SMALL, "accelerators": 32, "train_tensor": 1, "bandwidth": bandwidth, "policy": policy}
    step = topoopt.rl(
        "qwen3-8b", **{**words, "fabrics": ["ideal-switch", "topoopt", "topoopt-ocs"], "transport": "rdma"}
    )
    ideal, static, changed = (row.step_s for row in step.fabrics)
    found = step.rewiring
    assert found is not None
    assert static - ideal == pytest.approx(found.static_wait_s, rel=0.02, abs=1e-6)
    mems = next(one for one in found.technologies if one.name == "3d-mems")
    if mems.pays:
        assert static - changed == pytest.approx(mems.saved_s, rel=0.02, abs=1e-6)
    else:
        assert changed == pytest.approx(static)
