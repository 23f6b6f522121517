"""The words of the verbs about transformers become a model, a configuration and machines."""

import json
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.frontends.verbs.llm.words import model_of, system_of
from topoopt.workloads.transformer import find_transformer


def test_a_name_a_file_or_a_model(tmp_path: Path) -> None:
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
    assert (model_of(path, {}).name, model_of(str(path), {}).layers) == ("tiny", 2)
    llama = find_transformer("llama3-70b")
    assert model_of("llama3-70b", {}) == model_of(llama, {}) == llama


@pytest.mark.parametrize(
    ("name", "complaint"), [("llama4-70b", "unknown transformer"), ("no/config.json", "no such file")]
)
def test_a_model_that_is_not_there(name: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        model_of(name, {})


def test_amounts_are_text_or_si() -> None:
    part = {"accelerator": "h100"}
    text = system_of(part | {"bandwidth": "100Gbps", "intra_server_bandwidth": "300 GB/s", "latency": "2us"})
    assert text == system_of(part | {"bandwidth": 100e9, "intra_server_bandwidth": 2.4e12, "latency": 2e-6})
