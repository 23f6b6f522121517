"""The config.json of Hugging Face becomes a model with every parameter, or a line that says what it lacks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import (
    FAMILIES,
    config_to_model,
    count_parameters,
    read_config,
)

CONFIGS = Path(__file__).parent / "configs"
# As Hugging Face transformers 5.23.0 counts the parameters of a model made from the same keys, on no device; it keeps
# what balances routers (a number for each expert, of DeepSeek-V3 and many after it) beside the parameters. Parts for
# pictures and modules for further tokens are left out. Three are as their makers write them: Codestral Mamba (Mistral);
# DBRX (132 B) and Phi-3.5-MoE (41.9 B), to the last one by the shapes of their modules.
PARAMETERS = {
    "apertus-70b": 70_599_864_480,
    "apertus-8b": 8_053_338_176,
    "arcee-4.5b": 4_619_184_640,
    "bert-base": 109_482_240,
    "bloom-176b": 176_247_271_424,
    "command-a": 111_057_580_032,
    "command-r": 34_980_831_232,
    "command-r7b": 8_028_033_024,
    "dbrx": 131_596_523_520,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_404_352 + 58 * 256,
    "deepseek-v3.2": 671_877_944_064,
    "dots1": 142_774_381_696,
    "ernie-4.5-0.3b": 360_748_032,
    "ernie-4.5-21b-a3b": 21_825_437_888,
    "ernie-4.5-300b-a47b": 299_484_163_264,
    "exaone4-32b": 32_003_216_384,
    "falcon-40b": 41_303_293_952,
    "falcon-7b": 6_921_720_704,
    "gemma-7b": 8_537_680_896,
    "gemma2-9b": 9_241_705_984,
    "gemma3-1b": 999_885_952,
    "glm-4.5-air": 106_852_245_504 + 45 * 128,
    "glm-4.7-flash": 29_943_393_920,
    "glm-5": 743_911_218_432,
    "glm4-32b": 32_566_081_536,
    "glm4-9b": 9_399_951_360,
    "gpt-neox-20b": 20_554_567_680,
    "gpt-oss-20b": 20_914_757_184,
    "gpt2": 124_439_808,
    "gptj-6b": 6_050_882_784,
    "granite": 2_533_531_648,
    "granite-3.1-3b-a800m": 3_298_793_472,
    "granite-4.0-h-micro": 3_191_396_096,
    "granite-4.0-h-small": 32_207_337_984,
    "granite-4.0-h-tiny": 6_939_037_248,
    "granite-moe-shared": 4_788_480,
    "hunyuan-7b": 7_504_568_320,
    "hunyuan-a13b": 80_393_183_232,
    "kimi-k2": 1_026_408_209_408 + 60 * 384,
    "kimi-linear-48b-a3b": 49_122_681_728,
    "llama2-7b": 6_738_415_616,
    "llama3.2-1b": 1_235_814_400,
    "llama4-maverick": 400_711_848_960,
    "llama4-scout": 107_769_861_120,
    "mamba-codestral-7b": 7_285_403_648,
    "minimax-m2": 228_689_764_864,
    "minimax-text-01": 456_089_655_296,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "mpt-7b": 6_649_286_656,
    "nemotron-3-nano": 31_577_940_288,
    "nemotron-3-super": 120_668_707_840,
    "nemotron-4-340b": 341_029_195_776,
    "nemotron-h-8b": 8_100_852_736,
    "olmo2-13b": 13_716_198_400,
    "olmo2-32b": 32_234_279_936,
    "olmo2-7b": 7_298_617_344,
    "olmo3-32b": 32_233_522_176,
    "olmo3-7b": 7_298_011_136,
    "olmoe-1b-7b": 6_919_161_856,
    "opt-125m": 125_239_296,
    "phi3.5-moe": 41_873_153_344,
    "phi3-mini": 3_821_079_552,
    "qwen1.5-moe-a2.7b": 14_315_784_192,
    "qwen2-7b": 7_615_616_512,
    "qwen3-235b-a22b": 235_093_634_560,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-8b": 8_190_735_360,
    "qwen3-next-80b-a3b": 79_674_391_296,
    "qwen3-vl-30b-a3b": 30_532_122_624,
    "qwen3-vl-8b": 8_190_735_360,
    "qwen3.5-27b": 26_895_998_464,
    "qwen3.5-35b-a3b": 34_660_610_688,
    "roberta-base": 124_645_632,
    "seed-oss-36b": 36_151_104_512,
    "smollm3-3b": 3_075_098_624,
    "starcoder2-15b": 15_655_899_136,
}


def config(name: str, **changes: Any) -> dict[str, Any]:
    """The keys of one of the files, some of them changed; a change to ``...`` takes the key away."""
    keys = {**json.loads((CONFIGS / f"{name}.json").read_text()), **changes}
    return {key: value for key, value in keys.items() if value is not ...}


def refusal(keys: dict[str, Any]) -> str:
    with pytest.raises(InvalidInput) as caught:
        config_to_model(keys, "some/config.json")
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("some/config.json: ")
    return text.removeprefix("some/config.json: ")


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_counted(name: str) -> None:
    assert count_parameters(read_config(CONFIGS / f"{name}.json")).total == PARAMETERS[name]


def test_every_family_has_a_file() -> None:
    assert {json.loads(path.read_text())["model_type"] for path in CONFIGS.glob("*.json")} == set(FAMILIES)


@pytest.mark.parametrize("name", ["llama2-7b", "deepseek-v3", "gpt2", "qwen3-30b-a3b", "falcon-40b"])
def test_keys_that_say_nothing_about_shapes_are_left_alone(name: str) -> None:
    more = {
        "torch_dtype": "float16",
        "_name_or_path": "x",
        "auto_map": {"AutoModel": "y"},
        "eos_token_id": [1, 2],
    }
    assert config_to_model(config(name, **more), "x") == config_to_model(config(name), "x")


def test_the_model_is_called_after_its_file_or_folder(tmp_path: Path) -> None:
    (tmp_path / "my-llama").mkdir()
    text = json.dumps(config("llama2-7b"))
    for place, name in (("my-llama/config.json", "my-llama"), ("other.json", "other")):
        (tmp_path / place).write_text(text)
        assert read_config(tmp_path / place).name == name


def test_the_sequence_is_that_of_pre_training_before_positions_were_stretched() -> None:
    assert read_config(CONFIGS / "llama3.2-1b.json").sequence == 8192  # of 131,072
    assert read_config(CONFIGS / "deepseek-v3.json").sequence == 4096  # of 163,840
    newer = config("llama2-7b", rope_parameters={"original_max_position_embeddings": 2048})
    assert config_to_model(newer, "x").sequence == 2048


def test_windows_are_noted() -> None:
    oss, mistral = (read_config(CONFIGS / f"{name}.json") for name in ("gpt-oss-20b", "mistral-7b"))
    assert (oss.window, oss.window_layers) == (128, 12)
    assert (mistral.window, mistral.window_layers) == (4096, 32)
    assert read_config(CONFIGS / "qwen2-7b.json").window == 0  # has a size, and says not to use it


def test_a_missing_key_says_what_it_means() -> None:
    assert refusal(config("llama2-7b", num_hidden_layers=...)) == (
        "num_hidden_layers: missing, the number of layers; expected an integer >= 1"
    )
    assert "first_k_dense_replace: missing, the layers at the beginning" in refusal(
        config("deepseek-v3", first_k_dense_replace=...)
    )
    assert "num_key_value_heads: missing" in refusal(config("mistral-7b", num_key_value_heads=None))


@pytest.mark.parametrize("value", ["32", 32.5, 0, -1, True, [32]])
def test_a_number_that_is_none_is_named_with_its_key(value: object) -> None:
    said = refusal(config("llama2-7b", num_attention_heads=value))
    assert said.startswith("num_attention_heads (attention heads of a layer): expected an integer >= 1, got ")


def test_shapes_that_do_not_fit_together() -> None:
    assert "32 heads do not divide the hidden size 4097" in refusal(config("llama2-7b", hidden_size=4097))
    assert "32 heads cannot be shared by 5 evenly" in refusal(config("llama2-7b", num_key_value_heads=5))
    assert "a token goes to 1..8 of 8 experts, got 9" in refusal(
        config("mixtral-8x7b", num_experts_per_tok=9)
    )
    assert "tie_word_embeddings: expected true or false, got 1" in refusal(
        config("llama2-7b", tie_word_embeddings=1)
    )


def test_what_shapes_cannot_tell_is_refused() -> None:
    assert "word_embed_proj_dim 512" in refusal(config("opt-125m", word_embed_proj_dim=512))
    assert "moe_layer_freq 2" in refusal(config("deepseek-v3", moe_layer_freq=2))
    assert "mlp_only_layers [3]" in refusal(config("qwen3-30b-a3b", mlp_only_layers=[3]))
    assert "mlp_only_layers" in refusal(config("qwen3-30b-a3b", mlp_only_layers=["a", 0]))
    assert "layer_types: names 25 layers, and the model has 24" in refusal(
        config("gpt-oss-20b", layer_types=["sliding_attention"] * 25)
    )


def test_an_unknown_family_is_named_with_the_known_ones_and_a_way_out() -> None:
    said = refusal(
        {"model_type": "nobody", "num_hidden_layers": 48, "hidden_size": 1536, "vocab_size": 50280}
    )
    assert 'model_type: unknown family "nobody"' in said
    assert all(family in said for family in FAMILIES)
    assert "shapes by hand: layers=48 hidden=1536 vocabulary=50280" in said
    assert "not in the file: heads" in said


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"model_type": "mamba", "state_size": 16}, "every channel of its layers has a state of its own"),
        (
            {"model_type": "falcon_mamba", "state_size": 16},
            "every channel of its layers has a state of its own",
        ),
        ({"model_type": "jamba", "attn_layer_period": 8}, "seven of eight layers are Mamba-1"),
        ({"model_type": "falcon_h1", "num_attention_heads": 8}, "attention and Mamba-2 side by side"),
        ({"model_type": "zamba2", "num_attention_heads": 8}, "the same blocks of attention come again"),
        ({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text"}}, "four residual streams"),
        ({"model_type": "t5", "num_heads": 8}, "an encoder and a decoder"),
        ({"model_type": "whisper", "encoder_layers": 4}, "an encoder of sound and a decoder"),
        ({"model_type": "bamba", "attn_layer_indices": [9]}, "attn_layer_indices (kinds of layers)"),
        ({"d_model": 2560, "n_layer": 64, "ssm_cfg": {}}, "ssm_cfg (Mamba layers)"),
        ({"model_type": "nllb", "is_encoder_decoder": True}, "is_encoder_decoder (an encoder and a decoder)"),
    ],
)
def test_what_is_no_decoder_with_attention_is_said_and_shapes_by_hand_are_not_offered(
    keys: dict[str, Any], reason: str
) -> None:
    said = refusal({"hidden_size": 512, "num_hidden_layers": 8, **keys})
    assert reason in said
    assert "by hand" not in said
    assert said.endswith(
        "topoopt plan takes its graph instead: ONNX, an archive of torch.export, or a list of operators"
    )


def test_a_window_as_long_as_the_longest_sequence_is_none() -> None:
    phi = config("phi3.5-moe")
    assert config_to_model(phi, "x").window_layers == 0
    shorter = config_to_model({**phi, "sliding_window": 2047}, "x")
    assert (shorter.window, shorter.window_layers) == (2047, 32)


def test_a_model_of_mamba_2_alone_has_no_attention() -> None:
    model = read_config(CONFIGS / "mamba-codestral-7b.json")
    assert (model.attention_layers, model.recurrent_layers, model.dense_layers) == (0, 64, 0)


def test_a_misspelled_family_has_a_nearest_one() -> None:
    assert "did you mean qwen2_moe" in refusal(config("qwen3-30b-a3b", model_type="qwen2moe"))


def test_numbers_that_are_slips_of_the_keyboard() -> None:
    assert "layers: expected an integer <= 100000" in refusal(config("llama2-7b", num_hidden_layers=2**70))
    assert "experts: expected numbers of 1..1000000000" in refusal(
        config("mixtral-8x7b", num_local_experts=2**70)
    )
    assert "ffn: expected an integer 0..1000000000" in refusal(config("llama2-7b", intermediate_size=2**70))


def test_a_file_without_a_family_and_one_of_more_than_text() -> None:
    assert "model_type: missing" in refusal({"layers": 3})
    assert "text_config: num_hidden_layers: missing" in refusal(
        {"model_type": "llava", "text_config": {"model_type": "llama"}}
    )
    assert "use_diff=False" in refusal({"model_type": "llava", "text_config": {"model_type": "llama"}})


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_of_a_model_that_sees_its_language_model_is_read_and_the_rest_is_named(
    key: str, tmp_path: Path
) -> None:
    text = config("llama2-7b")
    eyes = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
    folder = tmp_path / "llava"
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps({"model_type": "llava", key: text, "vision_config": eyes}))
    found = read_config(path)
    assert replace(found, name="") == replace(config_to_model(text, "here"), name="")
    # 24 layers of 4 · 1,024² and 2 · 1,024 · 4,096 parameters
    assert found.name == "llava-text without vision_config (about 302 M parameters)"
    path.write_text(json.dumps({"model_type": "llava", key: text}))
    assert read_config(path).name == "llava-text without everything else"
    path.write_text(json.dumps(text))
    assert read_config(path).name == "llava"


def test_a_language_model_at_the_top_of_its_file_is_that_of_its_family(tmp_path: Path) -> None:
    text = config("qwen2-7b")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**text, "model_type": "qwen2_5_vl", "vision_config": {"depth": 32}}))
    found = read_config(path)
    assert replace(found, name="") == replace(config_to_model(text, "here"), name="")
    assert found.name.endswith("-text without vision_config")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "line 1: not a whole JSON file"),
        ("[1, 2]", "expected a mapping of keys to values, as Hugging Face writes, got a list"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_config(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"config\.json") as caught:
        read_config(path)
    assert complaint in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read_config("nowhere/config.json")


@pytest.mark.parametrize("value", ["[]", "{}", "1e400", "true", "1.5", "null"])
def test_a_family_that_is_no_text_is_one_line(value: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(f'{{"model_type": {value}, "hidden_size": 64}}', encoding="utf-8")
    said = "missing, the family of" if value == "null" else "expected the family of the model as text, got "
    with pytest.raises(InvalidInput, match=f"model_type: {said}"):
        read_config(path)


def test_attention_at_intervals_beyond_all_layers_is_none() -> None:
    beyond = [config("qwen3-next-80b-a3b", full_attention_interval=interval) for interval in (49, 10**15)]
    assert config_to_model(beyond[0], "f") == config_to_model(beyond[1], "f")


@pytest.mark.parametrize(
    ("name", "key", "written"),
    [
        ("mistral-7b", "num_key_value_heads", "num_key_value_head"),
        ("mistral-7b", "sliding_window", "slidng_window"),
        ("mixtral-8x7b", "num_local_experts", "num_local_expert"),
    ],
)
def test_a_key_that_is_almost_another_is_refused(name: str, key: str, written: str) -> None:
    values = dict(config(name))
    values[written] = values.pop(key)
    with pytest.raises(InvalidInput, match=f'unknown key "{written}"; did you mean {key}|{key}: missing'):
        config_to_model(values, "f")
