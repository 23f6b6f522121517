"""What holds of every model on every accelerator: more of a thing is never slower, or never takes more memory."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    Configuration,
    System,
    check_configuration,
    configuration_table,
    estimate,
    find_calibration,
    memory,
    recomputation_bits,
    zipf_loads,
)
from topoopt.transformers.configuration import recomputation_word
from topoopt.workloads.transformer import TransformerModel, find_transformer

MODELS = (
    "llama3-8b", "llama3-405b", "gpt3-175b", "mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b", "kimi-k2",
    "nemotron-3-nano", "qwen3-next-80b-a3b", "llama4-scout", "olmo3-32b", "gemma3-27b", "granite-4.0-h-small",
)  # fmt: skip
SYSTEMS = {
    "a100-80gb": System("a100-80gb", 8, 2.4e12, 200e9),
    "h100": System("h100", 8, 3.6e12, 400e9),
    "h20": System("h20", 8, 3.6e12, 400e9),
    "gb200": System("gb200", 72, 7.2e12, 400e9),
    "mi355x": System("mi355x", 8, 4e12, 400e9),
    "vr200": System("vr200", 72, 14e12, 800e9),
}
MUCH = 1.005
"""What hides may hide behind less: by so much an iteration may change against the law of what changes beside it."""


MORE = {"1f1b": MUCH, "zero-bubble": 1.03, "dualpipe": 1.03}
"""The same by schedule: what is longer fills more of a bubble, and more micro-batches overlap with more of them."""


@st.composite
def runs(draw: st.DrawFn) -> tuple[TransformerModel, Configuration, System]:
    """Return a model, a configuration that is valid for it, and machines."""

    def one_of(*values: object) -> object:
        return draw(st.sampled_from(values))

    model, name = find_transformer(draw(st.sampled_from(MODELS))), draw(st.sampled_from(sorted(SYSTEMS)))
    tp, pp, cp, dp = (
        draw(st.sampled_from(values)) for values in ((1, 2, 8), (1, 2, 4), (1, 1, 2), (1, 4, 16))
    )
    ep = draw(st.sampled_from((1, 4, 16))) if model.experts is not None else 1
    vpp = draw(st.sampled_from((1, 2))) if pp > 1 else 1
    rounds = draw(st.sampled_from((2, 4, 8))) * pp
    fields = {
        "context": one_of("ring", "ulysses", "all-gather"),
        "recompute": one_of("none", "selective", "norms", "core+activation", "full"),
        "zero": one_of(0, 1, 2, 3),
        "precision": one_of("bf16", "fp8") if name not in ("a100-80gb",) else "bf16",
        "sequence_parallel": tp > 1 and one_of(True, False),
        "micro_batch": one_of(1, 2),
        "schedule": one_of("1f1b", "zero-bubble", "dualpipe") if pp > 1 and vpp == 1 else "1f1b",
        "adapter_rank": one_of(0, 0, 16) if not model.recurrent_layers else 0,
        "document": one_of(0, 512),
        "exchange": one_of("flat", "hierarchical"),
        "overlap_experts": ep > 1 and (pp == 1 or vpp > 1) and one_of(True, False),
    }
    sequence = model.positions or draw(st.sampled_from((2048, 8192)))
    degrees = {"tp": tp, "pp": pp, "cp": cp, "dp": dp, "ep": ep, "vpp": vpp, "sequence": sequence}
    one = Configuration(**degrees, global_batch=rounds * dp * fields["micro_batch"], **fields)  # type: ignore[arg-type, operator]
    try:
        check_configuration(model, one, one.accelerators)
    except InvalidInput:
        assume(False)
    return model, one, SYSTEMS[name]


def seconds(model: TransformerModel, one: Configuration, system: System) -> float:
    calibration = find_calibration(system.accelerator)
    return float(estimate(model, configuration_table([one]), system, calibration).iteration_time_s[0])


def needed(model: TransformerModel, one: Configuration, system: System) -> float:
    return float(memory(model, configuration_table([one]), system.accelerator).total[0])


def changed(model: TransformerModel, one: Configuration, **fields: object) -> Iterator[Configuration]:
    """Yield the configuration with other fields, if it is valid."""
    other = replace(one, **fields)  # type: ignore[arg-type]
    try:
        check_configuration(model, other, other.accelerators)
    except InvalidInput:
        return
    yield other


many = settings(max_examples=20)


@many
@given(runs())
def test_faster_links_are_never_slower(run: tuple[TransformerModel, Configuration, System]) -> None:
    model, one, system = run
    now = seconds(model, one, system)
    assert seconds(model, one, replace(system, network_bandwidth_bps=2 * system.network_bandwidth_bps)) <= now
    assert (
        seconds(model, one, replace(system, scale_up_bandwidth_bps=2 * system.scale_up_bandwidth_bps)) <= now
    )
    assert seconds(model, one, replace(system, network_latency_s=5 * system.network_latency_s)) >= now


SLOWER_BY_FASTER_LINKS = {
    "launches counted to the pass with less to wait for": (
        "nemotron-3-nano",
        "a100-80gb",
        Configuration(
            tp=8, pp=1, dp=4, ep=16, global_batch=8, sequence=2048, zero=2, sequence_parallel=True
        ),
    ),
    "launches of a chunk in no pass": (
        "gemma3-27b",
        "a100-80gb",
        Configuration(
            tp=8, pp=8, dp=16, vpp=2, global_batch=1024, sequence=2048, zero=3, sequence_parallel=True, document=512
        ),
    ),
    "gradients between shards beside those of the last micro-batch": (
        "gpt3-175b",
        "mi355x",
        Configuration(
            tp=8, pp=1, dp=4, global_batch=8, sequence=2048, micro_batch=2, zero=3, shard=2, precision="fp8"
        ),
    ),
    "the busiest stage with fewer layers to gather": (
        "gemma3-27b",
        "a100-80gb",
        Configuration(
            tp=8, pp=4, dp=16, vpp=2, global_batch=1024, sequence=512, micro_batch=2, zero=3, document=512,
            recompute="core+activation",
        ),
    ),
}  # fmt: skip
"""Found at random: an iteration that took longer with scale-up links of twice the rate, by what was amiss."""


@pytest.mark.parametrize("fault", SLOWER_BY_FASTER_LINKS)
def test_faster_scale_up_links_are_never_slower(fault: str) -> None:
    model, name, one = SLOWER_BY_FASTER_LINKS[fault]
    slow = SYSTEMS[name]
    for rate in (1.05, 2.0):
        fast = replace(slow, scale_up_bandwidth_bps=rate * slow.scale_up_bandwidth_bps)
        transformer = find_transformer(model)
        assert seconds(transformer, one, fast) <= seconds(transformer, one, slow)


@many
@given(runs(), st.sampled_from(("core", "norms", "activation", "full")))
def test_computing_more_again_never_takes_more_memory_and_never_saves_time(
    run: tuple[TransformerModel, Configuration, System], part: str
) -> None:
    model, one, system = run
    word = recomputation_word(recomputation_bits(one.recompute) | recomputation_bits(part))
    for other in changed(model, one, recompute=word):
        # What waits for gradients of weights is kept all the same, and computed again besides.
        moment = 1e-2 if one.schedule == "zero-bubble" else 1e-9
        assert needed(model, other, system) <= needed(model, one, system) * (1 + moment)
        assert seconds(model, other, system) >= seconds(model, one, system) / MUCH


@many
@given(runs())
def test_fewer_bits_never_take_more_memory_or_time(
    run: tuple[TransformerModel, Configuration, System],
) -> None:
    model, one, system = run
    for field, rising in (("moments", ("fp8", "bf16", "fp32")), ("gradients", ("bf16", "fp32"))):
        sizes = [needed(model, replace(one, **{field: word}), system) for word in rising]  # type: ignore[arg-type]
        assert sizes == sorted(sizes)
    for other in changed(model, one, dispatch="fp8"):
        assert seconds(model, other, system) <= seconds(model, one, system) * MUCH
    if one.precision == "fp8":
        wide = seconds(model, replace(one, precision="bf16"), system)
        assert seconds(model, one, system) <= 1.1 * wide  # few tokens: casts take longer than products save


@many
@given(runs())
def test_what_is_shared_out_or_left_to_the_host_takes_less(
    run: tuple[TransformerModel, Configuration, System],
) -> None:
    model, one, system = run
    held = [
        memory(model, configuration_table([replace(one, zero=stage)]), system.accelerator).row(0)
        for stage in range(4)
    ]
    states = [sum(row[cause] for cause in ("parameters", "gradients", "optimizer")) for row in held]
    assert all(more <= less * (1 + 1e-9) for less, more in pairwise(states))
    now = needed(model, one, system)
    assert needed(model, replace(one, offload_optimizer=0.5), system) <= now
    assert needed(model, replace(one, offload_activations=0.5), system) <= now


@many
@given(runs())
def test_twice_the_batch_takes_longer_and_at_most_twice_as_long(
    run: tuple[TransformerModel, Configuration, System],
) -> None:
    model, one, system = run
    now = seconds(model, one, system)
    assert (
        now
        <= seconds(model, replace(one, global_batch=2 * one.global_batch), system)
        <= 2 * now * MORE[one.schedule]
    )


@many
@given(runs())
def test_no_part_of_an_iteration_is_negative_and_all_of_them_are_the_whole(
    run: tuple[TransformerModel, Configuration, System],
) -> None:
    model, one, system = run
    times = estimate(model, configuration_table([one]), system, find_calibration(system.accelerator)).row(0)
    parts = [times[name] for name in ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(times["iteration_time_s"])


@many
@given(runs())
def test_graphs_and_zero_bubbles_save_time_and_hot_experts_cost_it(
    run: tuple[TransformerModel, Configuration, System],
) -> None:
    model, one, system = run
    now = seconds(model, one, system)
    assert seconds(model, replace(one, graphs=True), system) <= now * (1 + 1e-9)
    if one.schedule == "zero-bubble":
        assert now <= seconds(model, replace(one, schedule="1f1b"), system) * MUCH
    if model.experts is not None:
        loads, calibration = zipf_loads(model, 1.0), find_calibration(system.accelerator)
        hot = estimate(model, configuration_table([one]), system, calibration, loads).iteration_time_s[0]
        assert hot >= now / MORE[one.schedule]


def test_one_stage_has_the_logits_even_where_layers_take_longer() -> None:
    """With frozen weights the output layer is quicker than the layers that a stage would give up for it."""
    one = Configuration(
        tp=8, pp=1, dp=2, ep=16, global_batch=4, sequence=8192, micro_batch=2, adapter_rank=16
    )
    times = estimate(
        find_transformer("deepseek-v3.2"),
        configuration_table([one]),
        SYSTEMS["h100"],
        find_calibration("h100"),
    )
    assert times.bubble_s[0] == 0
