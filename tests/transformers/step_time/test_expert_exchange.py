"""All-to-alls of experts against DeepEP's published bandwidths, and what hides behind computation."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import Configuration, System, configuration_table, estimate, find_calibration
from topoopt.transformers.communication.message import expected_places
from topoopt.transformers.step_time.case import case_of
from topoopt.transformers.step_time.expert_exchange import (
    COMMUNICATION_SHARE,
    exchanges_s,
    hidden_exchanges_s,
)
from topoopt.workloads.transformer import TransformerModel, find_transformer

H800 = System("h800", 8, 8 * 160e9, 8 * 50e9)
"""With the links that DeepEP's page gives: NVLink about 160 GB/s, ConnectX-7 about 50 GB/s."""

IDEAL = replace(
    find_calibration("h100"), exchange_efficiency=1.0, scale_up_efficiency=1.0, collective_latency_s=1e-6
)

DEEPEP = {8: (153e9, 158e9), 16: (43e9, 43e9), 32: (58e9, 57e9), 64: (51e9, 50e9)}
"""Dispatch (FP8) and combine (BF16) of 4,096 tokens of 7,168, top 8 of 256 in 4 of 8 groups: bytes a second of what
goes to ranks (8) or servers (the others), its own included; deepseek-ai/DeepEP docs/legacy.md (MIT)."""


def deepseek() -> TransformerModel:
    model = find_transformer("deepseek-v3")
    assert model.experts is not None
    return replace(model, experts=replace(model.experts, route_groups=8, groups_per_token=4))


@pytest.mark.parametrize(("ep", "tolerance"), [(8, 0.15), (16, 0.3), (32, 0.05), (64, 0.05)])
def test_exchanges_take_as_long_as_deepep_publishes(ep: int, tolerance: float) -> None:
    model = deepseek() if ep > 8 else find_transformer("qwen3-30b-a3b")
    limits = (8, 4) if ep > 8 else (0, 0)  # inside a server its test has no groups
    assert model.experts is not None
    model = replace(
        model,
        hidden=7168,
        experts=replace(model.experts, count=256, route_groups=limits[0], groups_per_token=limits[1]),
    )
    one = Configuration(tp=1, pp=1, dp=ep, ep=ep, global_batch=ep, sequence=4096, dispatch="fp8")
    case = case_of(model, configuration_table([one]), H800, IDEAL)
    estimated_s = float(exchanges_s(case)[0]) * model.layers / model.moe_layers
    places = expected_places(256, 8, ep if ep == 8 else ep // 8, *limits)
    there, back = DEEPEP[ep]
    token_bytes = 4096 * 7168 * places
    measured_s = token_bytes * (1 + 4 / 128) / there + token_bytes * 2 / back
    assert estimated_s == pytest.approx(measured_s, rel=tolerance)


def test_flat_exchanges_send_a_copy_for_each_expert() -> None:
    """Of k copies 7/8 leave a server of 8 in an expert group of 64, on the network alone."""
    one = Configuration(tp=1, pp=1, dp=64, ep=64, global_batch=64, sequence=4096, exchange="flat")
    model = find_transformer("qwen3-30b-a3b")
    case = case_of(model, configuration_table([one]), H800, IDEAL)
    wire_s = 2 * 4096 * model.hidden * 2 * 8 * (7 / 8) / 50e9
    assert float(exchanges_s(case)[0]) == pytest.approx(wire_s, rel=0.02)


def test_a_capacity_below_one_drops_tokens_on_the_way() -> None:
    model = deepseek()
    assert model.experts is not None
    half = replace(model, experts=replace(model.experts, capacity_factor=0.5))
    table = configuration_table([Configuration(tp=1, pp=1, dp=64, ep=64, global_batch=64, sequence=4096)])
    whole_s, half_s = (float(exchanges_s(case_of(each, table, H800, IDEAL))[0]) for each in (model, half))
    assert half_s == pytest.approx(whole_s / 2, rel=0.02)


def test_what_hides_takes_processors_and_what_is_longer_is_waited_for() -> None:
    alone, computing = np.array([1.0, 1.0]), np.array([10.0, 0.25])
    hidden = hidden_exchanges_s(alone, computing, np.array(False))
    assert hidden.tolist() == pytest.approx([COMMUNICATION_SHARE, 0.75])
    dedicated = hidden_exchanges_s(alone, computing, np.array(True))  # 20 of 132 are never there to compute
    assert dedicated.tolist() == pytest.approx([10 * 20 / 112, 0.75])


def test_graphs_leave_the_host_nothing_to_launch() -> None:
    """Layers that take 5 ms to launch are as long as their kernels once graphs launch them."""
    slow = replace(IDEAL, layer_launch_s=5e-3)
    model = find_transformer("qwen3-30b-a3b")
    one = Configuration(tp=1, pp=1, dp=8, ep=8, global_batch=64, sequence=4096)
    table = configuration_table([one, replace(one, graphs=True)])
    times = estimate(model, table, H800, slow)
    kernels = estimate(model, table, H800, replace(slow, layer_launch_s=1e-5, expert_launch=0.2))
    assert times.compute_s[0] > 2 * times.compute_s[1]
    assert times.compute_s[1] == pytest.approx(kernels.compute_s[1])
