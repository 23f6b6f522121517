"""Memory with adapters: states of adapters alone, and inputs of frozen matrices that are not kept."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, MemoryColumns, configuration_table, memory, trained_parameters
from topoopt.workloads.transformer import count_parameters, find_transformer

MODEL = find_transformer("llama3-8b")  # 32 layers, hidden 4096, 14336 inner
ONE = Configuration(1, 1, 8, 8, 4096, adapter_rank=16, adapters="qkv")


def of(one: Configuration, framework: str = "megatron") -> MemoryColumns:
    return memory(MODEL, configuration_table([one]), "h100", framework=framework)


@pytest.mark.parametrize("adapters", ["qkv", "attention", "all-linear"])
def test_only_adapters_have_gradients_and_optimizer_state(adapters: str) -> None:
    """bf16 with Megatron: 2 bytes of every weight, 4 + 12 beside 2 of every adapter's."""
    one = replace(ONE, adapters=adapters)
    added, found = trained_parameters(MODEL, one, 0).total, of(one)
    assert found.parameters[0] == 2 * (count_parameters(MODEL).total + added)
    assert found.gradients[0] == 4 * added
    assert found.optimizer[0] == 12 * added


def test_zero_shares_out_what_adapters_have_and_zero_3_frozen_weights_too() -> None:
    plain, shared, sharded = (of(replace(ONE, zero=zero)) for zero in (0, 1, 3))
    assert shared.optimizer[0] == pytest.approx(plain.optimizer[0] / 8)
    assert shared.parameters[0] == plain.parameters[0]
    assert sharded.parameters[0] == pytest.approx(plain.parameters[0] / 8)


def test_inputs_of_frozen_matrices_are_not_kept() -> None:
    """Of a token and layer, 16 bits: the norm's output before the feed-forward part, and its last matrix's input."""
    everything, some = (of(replace(ONE, adapters=kind)) for kind in ("all-linear", "qkv"))
    ranks = 2 * 16 * (4 - 1)
    freed = 2 * (4096 + 14336) + ranks
    assert everything.activations[0] - some.activations[0] == pytest.approx(32 * 4096 * freed)
    full = of(replace(ONE, adapter_rank=0, adapters="all-linear"))
    assert everything.activations[0] - full.activations[0] == pytest.approx(32 * 4096 * 2 * 16 * 4)


def test_layers_that_are_gathered_have_no_whole_gradients() -> None:
    sharded = replace(ONE, zero=3, adapters="all-linear")
    for framework in ("megatron", "fsdp"):
        assert of(sharded, framework).buffers[0] < of(replace(sharded, adapter_rank=0), framework).buffers[0]


def test_llama3_70b_is_fine_tuned_on_8_accelerators_only_with_adapters() -> None:
    model = find_transformer("llama3-70b")
    one = Configuration(8, 1, 1, 8, 4096, sequence_parallel=True, adapter_rank=16)
    table = configuration_table([one, replace(one, adapter_rank=0)])
    assert memory(model, table, "h100").fits.tolist() == [True, False]


def test_rows_of_a_table_may_differ() -> None:
    rows = [ONE, replace(ONE, adapter_rank=0, adapters="all-linear"), replace(ONE, adapters="attention")]
    together = memory(MODEL, configuration_table(rows), "h100").total
    assert together.tolist() == [of(row).total[0] for row in rows]


def test_frozen_weights_in_8_bits_have_one_copy() -> None:
    """NVIDIA's recipes of adapters keep no transposes; layers of 6,979,588,096 parameters, the rest in 16 bits."""
    eight = of(replace(ONE, precision="fp8", weights="fp8"))
    sixteen = of(replace(ONE, precision="bf16"))
    assert sixteen.parameters[0] - eight.parameters[0] == pytest.approx(6_979_588_096 + trained_in_layers())


def trained_in_layers() -> int:
    """Return the parameters of adapters, which would have two copies in 8 bits and have one, too."""
    return trained_parameters(MODEL, ONE, 0).total
