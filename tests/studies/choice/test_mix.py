"""A mix in words and in a file: shares sum to 1, and whoever says half of them is told so."""

import json
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.studies.choice import JobShare, read_mix


def test_shares_are_made_to_sum_to_one() -> None:
    mix = read_mix(["llama3-70b:3", "dlrm@16:1"])
    assert [(one.job, one.servers, one.share) for one in mix] == [("llama3-70b", 0, 0.75), ("dlrm", 16, 0.25)]


def test_jobs_without_shares_have_equal_ones() -> None:
    assert [one.share for one in read_mix(["vgg16", "dlrm", "bert", "ncf"])] == [0.25] * 4


def test_weights_win_over_the_shares_of_the_words() -> None:
    assert [one.share for one in read_mix(["vgg16:1", "dlrm:9"], ["3", "1"])] == [0.75, 0.25]


def test_a_model_may_have_dots_and_dashes_in_its_name() -> None:
    assert [one.job for one in read_mix(["gpt3-6.7b:0.5", "llama3.1-8b@4"][:1])] == ["gpt3-6.7b"]


def test_a_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mix.yaml"
    file.write_text("jobs:\n- {job: bert, share: 2}\n- {job: own.yaml, share: 6, servers: 8}\n")
    mix = read_mix([str(file)])
    assert [(one.name, one.share, one.servers) for one in mix] == [("bert", 0.25, 0), ("own@8", 0.75, 8)]
    assert {one.folder for one in mix} == {str(tmp_path)}


def test_a_job_file_is_a_job_and_no_mix(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("model: dlrm\n")
    assert [one.job for one in read_mix([str(file)])] == [str(file)]


@pytest.mark.parametrize(
    ("words", "weights", "message"),
    [
        ([], [], "jobs: expected one or more"),
        (["vgg16:0.5", "dlrm"], [], "dlrm: has no share, and others have"),
        (["vgg16:0"], [], 'vgg16:0: expected a share above 0, such as 0.6, got "0"'),
        (["vgg16:1e999"], [], "expected a share above 0"),
        (["vgg16@1:1"], [], "expected 2 servers or more after the @, got 1"),
        ([":0.5"], [], 'expected MODEL, MODEL:SHARE or MODEL@SERVERS:SHARE, got ":0.5"'),
        (["vgg16:1", "vgg16:2"], [], "vgg16: stands twice"),
        (["vgg16"], ["1", "2"], "weights: expected 1, one for each job, got 2"),
        (["vgg16"], ["many"], 'weights: expected a share above 0, such as 0.6, got "many"'),
    ],
)
def test_a_mistake_is_one_line(words: list[str], weights: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as found:
        read_mix(words, weights)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs: []\n", "jobs"),
        ("jobs:\n- {job: bert, share: 0}\n", "share"),
        ("jobs:\n- {job: bert, shares: 1}\n", "shares"),
        ("jobs:\n- {job: bert, servers: 1}\n", "servers"),
    ],
)
def test_a_mistake_in_a_file_names_its_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mix.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as found:
        read_mix([str(file)])
    assert "mix.yaml: jobs" in str(found.value)
    assert message in str(found.value)


def test_the_job_of_a_model_that_sees_says_what_is_left_out(tmp_path: Path) -> None:
    text = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2}
    path = tmp_path / "llava.json"
    text |= {"intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 64}
    path.write_text(json.dumps({"model_type": "llava", "text_config": text, "vision_config": {"depth": 2}}))
    assert JobShare(str(path), 1.0).name == "llava-text without vision_config"
    assert JobShare("llava.json", 1.0, 4, str(tmp_path)).name == "llava-text without vision_config@4"
