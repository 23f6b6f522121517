"""A model's name, variant and changed hyper-parameters lead to one graph, or to one line of advice."""

import dataclasses
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import MODELS, load_model, resolve_variant


@pytest.mark.parametrize(
    ("name", "servers", "variant"),
    [
        ("dlrm", 16, "dlrm-16"),
        ("dlrm", 32, "dlrm-16"),
        ("dlrm", 33, "dlrm-128"),
        ("dlrm", None, "dlrm-128"),
        ("candle", 12, "candle-16"),
        ("bert", 2, "bert-16"),
        ("vgg16", 16, "vgg16-16"),
        ("ncf", 16, "ncf-128"),
        ("resnet50", 432, "resnet50-128"),
        ("dlrm-128", 16, "dlrm-128"),
        ("dlrm-alltoall", 64, "dlrm-alltoall"),
    ],
)
def test_a_name_and_the_servers_choose_the_variant(name: str, servers: int | None, variant: str) -> None:
    assert load_model(name, servers=servers).name == variant


@pytest.mark.parametrize("variant", ["16", "dlrm-16"])
def test_a_variant_goes_before_the_number_of_servers(variant: str) -> None:
    assert resolve_variant("dlrm", variant=variant, servers=128)[1].name == "dlrm-16"


@pytest.mark.parametrize(
    ("name", "variant", "words"),
    [
        ("dlmr", None, "did you mean dlrm"),
        ("dlrm", "128k", "did you mean dlrm-128"),
        ("dlrm", "candle-16", "variant of dlrm"),
        ("dlrm-16", "128", "already names a variant"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, variant: str | None, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as raised:
        load_model(name, variant=variant)
    assert "\n" not in str(raised.value)


ALL_PARAMETERS = [
    (model, field.name)
    for model, entry in MODELS.items()
    for field in dataclasses.fields(entry.variants[0].parameters)
]


@pytest.mark.parametrize(("model", "field"), ALL_PARAMETERS)
def test_every_hyper_parameter_changes_the_graph_and_refuses_nonsense(model: str, field: str) -> None:
    default = getattr(MODELS[model].variants[0].parameters, field)
    changed = {
        "heads": 32,
        "hidden": 1536,
        "doses": 3,
        "channels": (64, 128, 256, 512, 64),
        "blocks": 11 if isinstance(default, int) else (2, 2, 3, 3, 2),
        "stages": (3, 4, 6, 2),
        "feature_inputs": "942,5270",
        "positions": 600,
    }.get(field, 260 if field == "image_size" else 2)
    change: dict[str, Any] = {field: changed}
    assert load_model(model, **change) != load_model(model)
    wrong: list[Any] = [-1, 2.5, "many", None, True]
    for nonsense in wrong:
        with pytest.raises(InvalidInput, match=f"^{model}: {field}: expected") as raised:
            load_model(model, **{field: nonsense})
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("model", "field"), ALL_PARAMETERS)
def test_zero_is_allowed_only_where_it_means_something(model: str, field: str) -> None:
    change: dict[str, Any] = {field: 0, "image_size": 229} if field == "head_side" else {field: 0}
    if field in {"bottom_output", "doses", "head_side"}:
        load_model(model, **change)
    else:
        with pytest.raises(InvalidInput, match=r"expected (an integer|integers) >= 1, got "):
            load_model(model, **change)


def test_a_number_beyond_reason_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"dlrm: dim: expected an integer <= 1000000000000, got 1"):
        load_model("dlrm", dim=10**400)


def test_an_unknown_hyper_parameter_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="dlrm: table: unknown hyper-parameter; did you mean tables"):
        load_model("dlrm", table=3)


def test_heads_must_divide_hidden() -> None:
    with pytest.raises(InvalidInput, match="hidden 1024 must be a multiple of heads 3"):
        load_model("bert", heads=3)


def test_a_sequence_has_a_position_for_each_token() -> None:
    with pytest.raises(InvalidInput, match="encoder: sequence 600 must be at most positions 512"):
        load_model("encoder-bert", sequence=600)


def test_blocks_and_channels_go_together() -> None:
    with pytest.raises(InvalidInput, match="equally long"):
        load_model("vgg16", blocks=(2, 2))


def test_an_image_too_small_for_a_window_is_one_line() -> None:
    with pytest.raises(InvalidInput, match="average: a feature map of 1×1 is smaller than the 7×7 window"):
        load_model("resnet50", image_size=1)


def test_changes_keep_the_variants_name_and_change_the_bytes() -> None:
    graph = load_model("dlrm-16", tables=24, batch_per_accelerator=64)
    assert (graph.name, graph.batch_per_accelerator) == ("dlrm-16", 64)
    wider = 4 * 8 * 256 * 2048
    assert graph.dense_parameter_bytes == 306_343_940 + wider


def test_every_model_says_what_it_is() -> None:
    for entry in MODELS.values():
        assert entry.title
        assert entry.description
        assert all(variant.description for variant in entry.variants)
