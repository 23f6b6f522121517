"""The words of ``topoopt llm`` become a model, a configuration and machines."""

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from topoopt.cli.transformer_arguments import (
    ConfigurationArguments,
    SystemArguments,
    TransformerArguments,
    requested_configuration,
    requested_model,
    requested_system,
)
from topoopt.errors import InvalidInput
from topoopt.hardware import PRECISIONS, Accelerator, accelerators, find_accelerator
from topoopt.llm import RECOMPUTATIONS
from topoopt.transformer import TransformerModel, count_parameters, find_transformer


def model(name: str | None = None, **said: Any) -> TransformerModel:
    return requested_model(TransformerArguments(name, **said))


def test_a_name_or_a_file(tmp_path: Path) -> None:
    keys = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "max_position_embeddings": 128,
    }
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(keys))
    assert (model(str(path)).name, model(str(path)).layers) == ("tiny", 2)
    assert model("llama3-70b") == find_transformer("llama3-70b")


def test_shapes_by_hand_are_those_of_gpt() -> None:
    gpt = find_transformer("gpt3-175b")
    by_hand = model(layers=96, hidden=12288, heads=96)
    assert count_parameters(by_hand) == count_parameters(gpt)
    assert by_hand.sequence == gpt.sequence
    llama = model(
        layers=80,
        hidden=8192,
        heads=64,
        kv_heads=8,
        ffn=28672,
        vocabulary=128256,
        gated=True,
        tied=False,
        seq=8192,
    )
    assert count_parameters(llama) == count_parameters(find_transformer("llama3-70b"))


def test_shapes_beside_a_model_change_it() -> None:
    short = model("llama3-70b", layers=8, seq=4096)
    assert (short.layers, short.sequence, short.hidden) == (8, 4096, 8192)
    assert short.name == "llama3-70b, changed"
    assert model("llama3-70b", seq=4096).name == "llama3-70b"
    wide = model("llama2-7b", heads=64)
    assert (wide.kv_heads, wide.head_dim) == (64, 64)
    assert model("gpt-oss-20b", layers=6).window_layers == 3
    assert model("mixtral-8x7b", experts=0).experts is None


def test_experts_by_hand() -> None:
    mixed = model("llama3-8b", experts=16, expert_ffn=2048, capacity_factor=1.25).experts
    assert mixed is not None
    assert (mixed.count, mixed.per_token, mixed.ffn, mixed.capacity_factor) == (16, 2, 2048, 1.25)
    more = model("mixtral-8x7b", experts=64).experts
    assert more is not None
    assert (more.count, more.per_token, more.ffn) == (64, 2, 14336)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({}, "missing: --layers, --hidden, --heads"),
        ({"layers": 4, "hidden": 64}, "missing: --heads"),
        ({"layers": 4, "hidden": 64, "heads": 5}, "--heads 5: does not divide the hidden size 64"),
        ({"layers": 0, "hidden": 64, "heads": 4}, "--layers: expected an integer >= 1, got 0"),
        ({"name": "llama3-8b", "kv_heads": 5}, "32 heads cannot be shared by 5"),
        ({"name": "llama3-8b", "seq": -1}, "seq: expected an integer >= 1"),
        ({"name": "llama3-8b", "expert_ffn": 64}, "--expert-ffn: the model has no experts"),
        ({"name": "llama3-8b", "capacity_factor": float("nan"), "experts": 8}, "--capacity-factor"),
        ({"name": "deepseek-v3", "head_dim": 64}, "--head-dim: deepseek-v3 has latent attention"),
        ({"name": "llama4-70b"}, "unknown transformer"),
        ({"name": "no/config.json"}, "no such file"),
    ],
)
def test_mistakes_in_shapes(said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        model(**said)
    assert complaint in str(caught.value)


def test_replicas_are_what_the_other_degrees_leave() -> None:
    llama = model("llama3-70b")
    one = requested_configuration(llama, ConfigurationArguments(tp=8, pp=4), 512)
    assert (one.dp, one.sequence, one.precision) == (16, 8192, "bf16")
    assert one.global_batch == 512  # 4 Mi tokens
    assert one.micro_batches == 32
    assert requested_configuration(llama, ConfigurationArguments(tp=8, dp=2), None).accelerators == 16


def test_batch_is_that_of_a_search_or_the_nearest_that_divides() -> None:
    llama = model("llama3-70b")
    for said, accelerators_said, batch in (
        (ConfigurationArguments(tp=8), 48, 528),
        (ConfigurationArguments(tp=8, micro_batch=16), 48, 576),
        (ConfigurationArguments(tp=8, pp=4, vpp=5, micro_batch=3), 512, 576),
    ):
        assert requested_configuration(llama, said, accelerators_said).global_batch == batch


def test_precision_is_one_that_the_accelerator_has() -> None:
    llama = model("llama2-7b")
    assert requested_configuration(llama, ConfigurationArguments(tp=8), 8, "v100").precision == "fp16"
    assert requested_configuration(llama, ConfigurationArguments(tp=8), 8, "a100").precision == "bf16"


def test_degrees_and_accelerators_that_do_not_match() -> None:
    llama = model("llama3-70b")
    for said, accelerators_said, complaint in (
        (ConfigurationArguments(tp=8), 100, "nearest: 96, 104 accelerators"),
        (ConfigurationArguments(tp=8, pp=4), 16, "nearest: 32 accelerators"),
        (ConfigurationArguments(tp=6), 64, "tp 6: does not divide 64 heads; nearest: 4, 8"),
        (ConfigurationArguments(tp=0), 64, "tp: expected an integer >= 1, got 0"),
        (ConfigurationArguments(), None, "accelerators: say how many"),
        (ConfigurationArguments(), 0, "accelerators: expected an integer from 1 to 10,000,000, got 0"),
        (
            ConfigurationArguments(),
            10**20,
            "accelerators: expected an integer from 1 to 10,000,000, got 1000",
        ),
        (ConfigurationArguments(dp=10**12), None, "dp: expected an integer <= 1000000000"),
        (ConfigurationArguments(global_batch=0), 8, "--global-batch: expected an integer >= 1, got 0"),
        (ConfigurationArguments(tp=8, pp=3), 72, "pp 3: does not divide 80 layers; nearest: 2, 4"),
    ):
        with pytest.raises(InvalidInput) as caught:
            requested_configuration(llama, said, accelerators_said)
        assert complaint in str(caught.value)
    uneven = ConfigurationArguments(tp=8, pp=3, uneven_stages=True)
    assert requested_configuration(llama, uneven, 72).pp == 3


def test_machines_are_those_of_the_catalogue_unless_said() -> None:
    h100 = find_accelerator("h100")
    system = requested_system(SystemArguments())
    assert (system.accelerators_per_server, system.network_latency_s) == (8, 1e-6)
    assert system.scale_up_bandwidth_bps == h100.scale_up_bandwidth_bps == 3.6e12
    assert system.network_bandwidth_bps == h100.nic_bandwidth_bps == 400e9
    own = SystemArguments(
        accelerators_per_server=4, bandwidth="100Gbps", intra_server_bandwidth="300 GB/s", latency="2us"
    )
    said = requested_system(own)
    assert (said.accelerators_per_server, said.network_bandwidth_bps) == (4, 100e9)
    assert (said.scale_up_bandwidth_bps, said.network_latency_s) == (2.4e12, 2e-6)


@pytest.mark.parametrize("part", accelerators(), ids=lambda part: part.name)
def test_every_accelerator_makes_machines_or_says_what_to_give(part: Accelerator) -> None:
    said = SystemArguments(accelerator=part.name)
    if part.nic_bandwidth_bps is None or part.scale_up_bandwidth_bps is None:
        with pytest.raises(InvalidInput, match="the catalogue gives none for"):
            requested_system(said)
        said = SystemArguments(accelerator=part.name, bandwidth="1Gbps", intra_server_bandwidth="1Gbps")
    assert requested_system(said).accelerators_per_server >= 1


def test_flags_name_their_tables() -> None:
    hints = get_type_hints(ConfigurationArguments, include_extras=True)
    words = {name: hints[name].__metadata__[0].metavar.split("|") for name in ("recompute", "precision")}
    assert tuple(words["recompute"]) == RECOMPUTATIONS
    assert set(words["precision"]) <= set(PRECISIONS)
