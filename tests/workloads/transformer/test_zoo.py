"""The zoo finds published transformers however they are spelled, and has their parameters."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import (
    TRANSFORMERS,
    count_parameters,
    find_transformer,
    is_transformer,
    read_config,
)

CONFIGS = Path(__file__).parent / "configs"


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_parameters_are_the_published_ones(name: str) -> None:
    published, count = TRANSFORMERS[name].published, count_parameters(find_transformer(name)).total
    if published.isdigit():
        assert count == int(published)
    else:
        number, unit = published.split()
        # Rounded names of GPT-3 (Table 2.1) are the loosest: 2.65 is written 2.7, 12.86 is 13.0, 356.8 is 350.
        assert count / {"M": 1e6, "B": 1e9}[unit] == pytest.approx(float(number), rel=0.03)


def test_no_two_models_share_a_name() -> None:
    names = [
        re.sub("[-_ ]", "", word)
        for entry in TRANSFORMERS.values()
        for word in (entry.model.name, *entry.aliases)
    ]
    assert len(names) == len(set(names))


def test_every_model_says_where_it_is_from() -> None:
    assert all(entry.source and entry.published for entry in TRANSFORMERS.values())


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("LLAMA3_70B", "llama3-70b"),
        ("LLAMA3.1_405B", "llama3-405b"),
        ("Qwen3_30B_a3B", "qwen3-30b-a3b"),
        ("Qwen3_235B_a22B (tokendrop)", "qwen3-235b-a22b"),
        ("DeepSeekV3", "deepseek-v3"),
        ("DeepSeekV3 (w/ MTP)", "deepseek-v3"),
        ("deepseek-r1", "deepseek-v3"),
        ("GPT OSS 120B", "gpt-oss-120b"),
        ("Kimi_K2", "kimi-k2"),
        ("Nemotron_3_Nano", "nemotron-3-nano"),
        ("Nemotron_3_5_Lightning", "nemotron-3-nano"),
        ("Llama4-Scout", "llama4-scout"),
        ("meta-llama/Meta-Llama-3-70B", "llama3-70b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3-8b"),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"),
        ("Nemotron V3 Nano 30B", "nemotron-3-nano"),
        ("llama2_70b_lora", "llama2-70b"),
        ("MPT-30b", "mpt-30b"),
        ("Mixtral 8x7B", "mixtral-8x7b"),
        ("gpt3", "gpt3-175b"),
    ],
)
def test_capitals_and_dashes_do_not_matter(spelled: str, name: str) -> None:
    assert find_transformer(spelled).name == name
    assert is_transformer(spelled)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Jamba", "seven of eight layers are Mamba"),
        ("DeepSeekV4 Flash", "sparse attention"),
        ("T5", "encoder and a decoder"),
    ],
)
def test_models_of_another_kind_are_refused_with_the_reason(name: str, reason: str) -> None:
    assert not is_transformer(name)
    with pytest.raises(InvalidInput, match=reason):
        find_transformer(name)


def test_a_misspelled_model_has_a_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean llama3-70b"):
        find_transformer("lama3-70b")


def test_shapes_of_the_models_of_the_mixnet_paper() -> None:
    shapes = {
        name: (model.layers, model.experts.count)
        for name in ("mixtral-8x7b", "mixtral-8x22b", "llama-moe", "qwen-moe", "deepseek-r1")
        if (model := find_transformer(name)).experts
    }
    assert shapes == {
        "mixtral-8x7b": (32, 8),
        "mixtral-8x22b": (56, 8),
        "llama-moe": (32, 16),
        "qwen-moe": (24, 64),
        "deepseek-r1": (61, 256),
    }


def test_models_of_the_zoo_are_what_their_files_say() -> None:
    files = {path.stem: read_config(path) for path in CONFIGS.glob("*.json") if path.stem in TRANSFORMERS}
    assert len(files) > 60
    for name, read in files.items():
        model = find_transformer(name)
        # Files say the longest sequence, and those here leave out groups of experts and further tokens.
        same = replace(read, sequence=model.sequence, mtp_layers=model.mtp_layers, positions=model.positions)
        if model.experts is not None and read.experts is not None:
            groups, few = model.experts.route_groups, model.experts.groups_per_token
            experts = replace(read.experts, route_groups=groups, groups_per_token=few)
            same = replace(same, experts=experts)
        assert same == model, name
