"""The law of a step: bytes that it counts, overlap of two halves, and hosts that do not wait for each other."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, step_table
from topoopt.inference.network.traffic import exchange_law, pass_bytes
from topoopt.inference.step.constants import Constants
from topoopt.inference.step.law import (
    boundary_s,
    decode_step_s,
    engine_s,
    exchange_s,
    prompt_step_s,
    reduce_s,
    token_s,
)
from topoopt.inference.step.replica import Replica, replica
from topoopt.schema.files import packaged_rows
from topoopt.transformers import Links, allreduce_s, find_calibration, machine_of, usual_system
from topoopt.workloads.transformer import find_transformer

BARE = Constants(
    **{one.name: 1.0 if one.name.endswith(("memory", "compute")) else 0.0 for one in fields(Constants)}
)
"""Engines that add nothing: seconds of sending times bandwidth are bytes."""


def columns(
    model: str, split: Parallelism, accelerator: str = "h800", two_batch_overlap: bool = False
) -> Replica:
    return replica(
        find_transformer(model),
        find_accelerator(accelerator),
        split,
        EngineSettings("fp8", two_batch_overlap=two_batch_overlap),
    )


def far_bytes(one: Replica, tokens: float, decoding: bool) -> float:
    """Return the bytes between servers that the law counts of exchanges: their slope, at what kernels reach."""
    times = exchange_s(one, BARE, np.array([tokens]), decoding) - exchange_s(
        one, BARE, np.array([0.0]), decoding
    )
    return float(times[0] * one.network_bytes_per_s[0]) / exchange_law().slowness


LARGE = 2.0**40
"""Bytes, or tokens, beside which no message takes time to start."""


def collective_s(accelerator: str, ranks: int, size_bytes: float) -> float:
    """Return the seconds that ``topoopt collective --one-shot`` says of an AllReduce."""
    answer = topoopt.collective(
        "allreduce", size_bytes, accelerators=ranks, accelerator=accelerator, one_shot=True
    )
    assert isinstance(answer, topoopt.CollectiveTimes)
    return next(one.time_s for one in answer.rows if one.size_bytes == size_bytes)


@pytest.mark.parametrize("accelerator", ["a100-80gb", "h100", "h200", "b200", "gb200"])
@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
def test_sums_of_serving_are_the_allreduces_of_the_collective_verb(accelerator: str, ranks: int) -> None:
    """Two a layer, of 8,192 numbers of 2 bytes for each token of Llama 3 70B."""
    one = columns("llama3-70b", Parallelism(ranks), accelerator)
    for tokens in (1, 4, 16, 64, 256, 1024, 4096, 16384):
        ours = float(reduce_s(one, np.array([float(tokens)]))[0])
        assert ours == pytest.approx(160 * collective_s(accelerator, ranks, 2.0 * 8192 * tokens), rel=1e-9)


MEASURED_US = {
    2: (3.7, 3.9, 4.5, 7.9, 12.5, 19.9),
    4: (4.8, 3.7, 4.8, 13.9, 20.2, 31.1),
    8: (5.9, 5.7, 7.8, 16.7, 22.1, 33.8),
}
"""TensorRT-LLM's AllReduce on H100, of 512, 4,096 … 1,048,576 numbers of 4 bytes (sgl-project/sglang #2904)."""


def test_kernels_of_engines_take_about_as_long_as_measured() -> None:
    numbers = (512, 4096, 32768, 262144, 524288, 1048576)
    off = [
        abs(1e6 * collective_s("h100", ranks, 4.0 * count) / measured - 1)
        for ranks, times in MEASURED_US.items()
        for count, measured in zip(numbers, times, strict=True)
    ]
    assert np.mean(off) == pytest.approx(0.078, abs=5e-4)


@settings(max_examples=30)
@given(st.sampled_from((2, 4, 8)), st.floats(1, 2**31))
def test_kernels_of_engines_are_never_slower_than_nccl_and_far_faster_for_small_messages(
    ranks: int, size_bytes: float
) -> None:
    """NCCL's AllReduce of 8 H100 takes 19 us at least, an engine's 4 to 6 (sgl-project/sglang #2904)."""
    links = Links(machine_of(usual_system("h100")), find_calibration("h100"))
    members, whole = np.full(1, float(ranks)), np.array([size_bytes])
    direct, rings = (
        allreduce_s(whole, members, links.allreduce_terms(members, np.ones(1))),
        links.gather_s(members, np.ones(1), whole, 2.0),
    )
    assert direct <= rings * (1 + 1e-12)
    assert size_bytes > 2**16 or 4e-6 <= direct[0] <= 8e-6


def test_stages_hand_on_two_bytes_a_number_as_the_bytes_of_a_pass_say() -> None:
    model, split = find_transformer("llama3-70b"), Parallelism(pipeline=4)
    one = columns(model.name, split, "h100")
    on_wire = float(boundary_s(one, np.array([LARGE]))[0]) / float(one.link_s_per_byte[0])
    assert on_wire == pytest.approx(3 * LARGE * pass_bytes(model, split).boundary_bytes)


def test_decoding_sends_each_copy_to_its_expert_as_the_bytes_of_a_pass_say() -> None:
    model, split = find_transformer("deepseek-v3"), Parallelism(1, 1, 128, 128)
    one, each = columns(model.name, split), pass_bytes(model, split)
    on_wire = far_bytes(one, 128.0 * 64, True)
    copies = 8 * (1 - 8 / 128)  # of those that leave the server
    assert on_wire == pytest.approx(58 * 64 * copies * (each.dispatch_bytes + each.combine_bytes))


def sampled_servers(servers: int) -> float:
    """Return on how many servers the experts of a token lie, drawn: 4 of 8 groups, 8 of their 128 experts."""
    generator, groups = np.random.default_rng(0), 8
    found = []
    for _ in range(20_000):
        chosen = generator.choice(groups, 4, replace=False)
        places = generator.choice(4 * 32, 8, replace=False)
        found.append(len({int(chosen[place // 32]) * servers // groups for place in places}))
    return float(np.mean(found))


def test_prompts_go_once_to_each_server_that_has_experts_of_them() -> None:
    """On 4 servers a token of DeepSeek-V3 meets 4 of 8 groups, two of which lie on each.

    1 - C(6,4)/C(8,4) of servers may have some of its experts, and fewer do, for all 8 may be of other chosen groups.
    """
    model, split = find_transformer("deepseek-v3"), Parallelism(1, 1, 32, 32)
    one, each = columns(model.name, split), pass_bytes(model, split)
    on_wire = far_bytes(one, 32.0 * 4096, False)
    visited = float(one.domains_visited[0])
    assert 8 / 4 <= visited < 4 * (1 - 15 / 70)
    assert visited == pytest.approx(sampled_servers(4), rel=0.01)
    assert on_wire == pytest.approx(58 * 4096 * visited * 3 / 4 * (each.dispatch_bytes + each.combine_bytes))


def test_deepeps_kernels_for_prompts_are_as_fast_as_published() -> None:
    """58 GB/s of dispatch and 57 of combine over 32 H800, counted with what stays on a token's own server."""
    one = columns("deepseek-v3", Parallelism(1, 1, 32, 32))
    ours = float(exchange_s(one, BARE, np.array([32.0 * 4096]), False)[0]) / 58
    visited = float(one.domains_visited[0])
    published = 4096 * 7168 * visited * ((1 + 4 / 128) / 58e9 + 2 / 57e9)
    assert ours == pytest.approx(published, rel=0.15)


@pytest.mark.parametrize("ranks", [32, 64, 128, 256])
def test_deepeps_kernels_for_decoding_are_met_by_what_the_law_counts(ranks: int) -> None:
    row = next(row for row in packaged_rows("inference", "expert_exchanges") if row["ranks"] == str(ranks))
    one = columns("deepseek-v3", Parallelism(1, 1, ranks, ranks))
    ours = float(exchange_s(one, BARE, np.array([128.0 * ranks]), True)[0]) / 58
    assert ours == pytest.approx(float(row["dispatch_s"]) + float(row["combine_s"]), rel=0.15)


def usual(**words: float) -> Constants:
    base = {
        name: float(value) for name, value in list(packaged_rows("inference", "constants")[0].items())[3:]
    }
    return Constants(**{**base, **words})


@settings(max_examples=30)
@given(st.floats(1, 512), st.floats(64, 16384), st.sampled_from((16, 32, 72, 144)))
def test_two_halves_take_no_longer_than_one_batch_and_no_less_than_their_longer_part(
    batch: float, length: float, ranks: int
) -> None:
    split, law = Parallelism(1, 1, ranks, ranks), usual()
    plain, halves = (columns("deepseek-v3", split, two_batch_overlap=one) for one in (False, True))
    tokens = np.array([batch * ranks])
    decoding = [decode_step_s(one, law, tokens, np.array([length])) for one in (plain, halves)]
    reading = [prompt_step_s(one, law, tokens * length, tokens) for one in (plain, halves)]
    for alone, overlapped in (decoding, reading):
        assert overlapped <= alone * (1 + 1e-12)
    sent = exchange_s(plain, law, tokens, True)
    assert token_s(halves, law, tokens, True) >= sent * (1 - 1e-12)


def test_overlap_pays_at_hundred_and_not_at_a_few_requests_an_accelerator() -> None:
    """Both halves read the weights, so that a small batch is better left whole: 64 to 128 tokens and more gain."""
    split, law = Parallelism(1, 1, 128, 128), usual()
    plain, halves = (columns("deepseek-v3", split, two_batch_overlap=one) for one in (False, True))
    gained = {}
    for each in (1, 128):
        tokens = np.array([128.0 * each])
        times = [float(token_s(one, law, tokens, True)[0]) for one in (plain, halves)]
        gained[each] = 1 - times[1] / times[0]
    assert gained[128] > 0.2
    assert gained[1] < gained[128] / 2


def test_hosts_prepare_their_own_requests_side_by_side() -> None:
    law = replace(BARE, request_s=1e-6)
    few, many = (columns("deepseek-v3", Parallelism(1, 1, ranks, ranks)) for ranks in (8, 144))
    assert engine_s(few, law, np.array([8.0 * 128])) == pytest.approx(1024e-6)
    assert engine_s(many, law, np.array([144.0 * 128])) == pytest.approx(1024e-6)


def test_the_table_says_what_the_law_says_with_halves_and_without() -> None:
    model, split = find_transformer("deepseek-v3"), Parallelism(1, 1, 144, 144)
    for overlap in (False, True):
        law, engine = usual(), EngineSettings("fp8", two_batch_overlap=overlap)
        table = step_table(model, "h800", split, engine, constants=law)
        one = columns(model.name, split, two_batch_overlap=overlap)
        for each in (16, 128):
            batch = float(table.tokens[np.searchsorted(table.tokens, 144 * each)])
            expected = float(decode_step_s(one, law, np.array([batch]), np.array([2048.0]))[0])
            assert table.decode_s(batch, batch * 2048) == pytest.approx(expected, rel=2e-3)


def test_a_table_reaches_a_million_tokens_of_each_copy_and_refuses_more() -> None:
    model, split = find_transformer("deepseek-v3"), Parallelism(1, 1, 144, 144)
    table = step_table(model, "h800", split, EngineSettings("fp8"))
    assert table.prefill_s(144 * 16384, 144) > table.prefill_s(144 * 8192, 144)
    assert table.tokens[-1] >= 144 * 2**20
    with pytest.raises(InvalidInput, match=r"a step of 1,000,000,000 tokens: step times end at"):
        table.prefill_s(1e9)
