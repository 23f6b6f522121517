"""What is measured is what a search may choose, each shape and size once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.plugins.profiling import only_operators, subject_of_job, subject_of_transformer
from topoopt.search import CHANNEL_DIMS, candidate_splits
from topoopt.workloads import PartSize, load_model, read_operators, signature_of
from topoopt.workloads.strategy import OperatorSplit, part_samples
from topoopt.workloads.transformer import TransformerModel, find_transformer, layer_parameters

CLUSTER = ClusterSpec(8, 4, 100e9)
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def dlrm() -> Job:
    return make_job(load_model("dlrm", servers=8), CLUSTER, JobSettings())


def test_every_split_of_a_search_has_its_size_measured(dlrm: Job) -> None:
    sizes = {signature_of(op.operator): op.sizes for op in subject_of_job(dlrm).operators}
    divisors = np.array([1, 2, 4, 8])
    for op, choices in zip(
        operators_of(dlrm).graph.operators, candidate_splits(dlrm, divisors, False), strict=True
    ):
        for b, c, dim in choices:
            split = OperatorSplit(int(divisors[b]), 0, int(divisors[c]), CHANNEL_DIMS[dim])
            samples = part_samples(split, dlrm.global_batch) / (1 if op.is_embedding else 4)
            assert PartSize(int(samples), split.channel_degree, split.channel_dim) in sizes[signature_of(op)]


def test_operators_of_one_shape_are_measured_once(dlrm: Job) -> None:
    subject = subject_of_job(dlrm)
    assert sum(op.count for op in subject.operators) == len(operators_of(dlrm).graph.operators)
    assert [(op.operator.name, op.count) for op in subject.operators[:2]] == [
        ("table_0", 16),
        ("bottom_0", 7),
    ]
    assert subject.sizes == 75


def test_samples_are_those_of_one_accelerator_and_of_a_table_the_global_batch(dlrm: Job) -> None:
    table, dense = subject_of_job(dlrm).operators[:2]
    assert {size.samples for size in table.sizes} == {dlrm.global_batch}
    assert {size.samples for size in dense.sizes} == {256, 512, 1024, 2048}


def test_operators_of_a_file_are_measured_where_their_shapes_follow() -> None:
    graph = read_operators(EXAMPLES / "operators.yaml", batch_per_accelerator=8)
    subject = subject_of_job(make_job(graph, CLUSTER, JobSettings()), "operators")
    assert sum(op.count for op in subject.operators) + len(subject.left_out) == len(graph.operators)


def test_only_some_operators_by_kind_name_or_pattern(dlrm: Job) -> None:
    subject = subject_of_job(dlrm)

    def chosen(*patterns: str) -> list[str]:
        return [op.operator.name for op in only_operators(subject, patterns).operators]

    assert chosen("embedding") == ["table_0"]
    assert chosen("top_*", "concat") == ["concat", "top_0", "top_1", "top_15"]
    with pytest.raises(InvalidInput, match=r'operators: unknown name "topp_0"; did you mean top_0'):
        chosen("topp_0")
    with pytest.raises(InvalidInput, match=r'"x\*" fits none of bottom_0, concat'):
        chosen("x*")


@pytest.mark.parametrize("name", ["llama2-7b", "gpt3-175b", "mixtral-8x7b", "deepseek-v3"])
def test_the_operators_of_a_transformer_hold_the_parameters_of_a_layer(name: str) -> None:
    model = find_transformer(name)
    ops = {
        op.operator.name: op.operator.parameter_bytes // 4 for op in subject_of_transformer(model).operators
    }
    layer = layer_parameters(model, model.experts is not None)
    attention = sum(ops.get(key, 0) for key in ("qkv", "down", "queries", "keys_values", "output"))
    assert attention == pytest.approx(layer.attention, rel=1e-3)  # norms of latent ranks are left out
    if model.experts is None:
        assert ops["mlp_in"] + ops["mlp_out"] == layer.mlp
    else:
        assert ops["expert_in"] + ops["expert_out"] == layer.one_expert
        assert ops["router"] == pytest.approx(layer.router, rel=1e-3)
    assert ops["logits"] == model.vocabulary * model.hidden


def test_tensor_degrees_are_those_that_divide_the_heads() -> None:
    model: TransformerModel = replace(find_transformer("llama2-7b"), heads=12, kv_heads=12)
    subject = subject_of_transformer(model, micro_batches=(1,))
    qkv = next(op for op in subject.operators if op.operator.name == "qkv")
    assert qkv.sizes == (PartSize(1), PartSize(1, 2, "out"), PartSize(1, 4, "out"))
    norm = next(op for op in subject.operators if op.operator.name == "norm")
    assert norm.sizes == (PartSize(1),)
    with pytest.raises(InvalidInput, match="tensor_parallel: none of 5, 8 divides the 12 heads"):
        subject_of_transformer(model, tensor_degrees=(5, 8))


def test_layers_with_a_recurrence_are_not_measured() -> None:
    with pytest.raises(InvalidInput, match="23 layers with a recurrence, which are not measured"):
        subject_of_transformer(find_transformer("nemotron-3-nano"))
