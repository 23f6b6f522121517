"""Operators really run: every kind, forward and backward, on the CPU of this machine."""

import math
from dataclasses import replace

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.plugins.profiling import (
    Repetitions,
    Subject,
    measure_subject,
    subject_of_job,
    subject_of_transformer,
)
from topoopt.plugins.profiling.device import Device, find_device
from topoopt.plugins.profiling.measure import (
    BUILDERS,
    OUT_OF_MEMORY,
    CannotMeasure,
    measure_part,
    torch_operator,
)
from topoopt.plugins.profiling.shapes import DenseShape, Shape
from topoopt.workloads import Operator, OperatorGraph, PartSize, load_model
from topoopt.workloads.transformer import find_transformer
from topoopt.workloads.zoo import layers

pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[torch]")

QUICK = Repetitions(warm_up=1, measured=3, longest_s=0.05)


@pytest.fixture(scope="module")
def cpu() -> Device:
    return find_device("cpu", "fp32", threads=1)


def one_of_each_kind() -> OperatorGraph:
    """A small graph with every kind of operator of the zoo."""
    ops: list[Operator] = []
    conv, image = layers.conv2d("conv2d", (), layers.Image(3, 9), 4, kernel=3, stride=2, padding=1)
    last = layers.append(ops, conv)
    op, image = layers.pool("pool", last, image, kernel=3, stride=2, padding=1)
    last = layers.append(ops, layers.relu("relu", layers.append(ops, op), image.elements))
    flat = layers.append(ops, layers.flatten("flatten", last, image.elements))
    table = layers.append(ops, layers.embedding("embedding", 50, 6, bag=4))
    both = layers.append(ops, layers.concat("concat", (flat, table), image.elements + 6 + 2))
    dense = layers.append(ops, layers.dense("dense", (both,), image.elements + 8, 16))
    product = layers.append(ops, layers.multiply("multiply", (dense, dense), 16))
    total = layers.append(ops, layers.add("add", (product, dense), 16))
    heads = layers.append(
        ops, layers.attention("attention", (total,), (total,), hidden=8, heads=2, positions=2)
    )
    layers.append(ops, layers.softmax("softmax", heads, 16))
    return OperatorGraph("each", tuple(ops), 2)


def subject_of_each() -> Subject:
    return subject_of_job(make_job(one_of_each_kind(), ClusterSpec(2, 1, 100e9), JobSettings()), "operators")


def small_transformer() -> Subject:
    model = replace(
        find_transformer("deepseek-v3"),
        hidden=32,
        heads=4,
        kv_heads=4,
        ffn=48,
        vocabulary=60,
        sequence=8,
        layers=8,
    )
    return subject_of_transformer(model, tensor_degrees=(1, 2), micro_batches=(1, 2))


@pytest.mark.parametrize("subject", [subject_of_each(), small_transformer()], ids=["zoo", "transformer"])
def test_an_operator_gives_as_many_numbers_as_the_graph_says(subject: Subject, cpu: Device) -> None:
    for op in subject.operators:
        output = torch_operator(op.operator.kind, op.shape, 3, cpu).forward()
        assert output.numel() == 3 * op.operator.output_bytes_per_sample / 4, op.operator.name
    assert not subject.left_out


def test_every_kind_of_operator_is_in_one_of_the_two() -> None:
    subjects = (subject_of_each(), small_transformer())
    assert {op.operator.kind for subject in subjects for op in subject.operators} == set(BUILDERS)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("subject", [subject_of_each(), small_transformer()], ids=["zoo", "transformer"])
def test_every_size_of_every_kind_takes_time(subject: Subject, precision: str) -> None:
    done = measure_subject(
        subject,
        find_device("cpu", precision, threads=1),
        None,
        repetitions=QUICK,
        time_limit_s=math.inf,
        save=lambda profile: None,
        on_progress=lambda words, done, total: None,
    )
    assert (done.measured, done.failed) == (subject.sizes, 0)
    for op in done.profile.operators:
        for time in op.times.values():
            assert 0 < time.forward_s < 60
            assert 0 < time.backward_s < 60
            assert time.forward_spread_s >= 0
            assert time.repetitions == 3
            assert time.memory_bytes > 0


def test_gradients_are_made_of_inputs_and_weights(cpu: Device) -> None:
    operator = torch_operator("dense", DenseShape(4, 3), 2, cpu)
    assert [tuple(tensor.shape) for tensor in operator.leaves] == [(2, 4), (3, 4), (3,)]
    ones = cpu.torch.ones(2, 3)
    gradients = cpu.torch.autograd.grad(operator.forward(), operator.leaves, ones)
    assert gradients[2].tolist() == [2.0, 2.0, 2.0]


def test_a_product_of_4096_times_the_work_takes_longer(cpu: Device) -> None:
    shape = DenseShape(512, 512)
    small = measure_part("dense", shape, PartSize(1), cpu, Repetitions(warm_up=3, measured=25))
    large = measure_part("dense", shape, PartSize(4096), cpu, QUICK)
    assert large.forward_s > small.forward_s
    assert large.memory_bytes > small.memory_bytes


def test_memory_of_a_cpu_is_that_of_all_tensors(cpu: Device) -> None:
    took = measure_part("dense", DenseShape(8, 4), PartSize(16), cpu, QUICK)
    inputs, weights, outputs = 16 * 8, 8 * 4 + 4, 16 * 4
    assert took.memory_bytes == 4 * 2 * (inputs + weights + outputs)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("CUDA out of memory. Tried to allocate 20 GiB", OUT_OF_MEMORY),
        ("DefaultCPUAllocator: can't allocate memory: you tried", OUT_OF_MEMORY),
        ("\"conv\" not implemented for 'Half'", "PyTorch: \"conv\" not implemented for 'Half'"),
    ],
)
def test_what_pytorch_refuses_is_a_reason_and_no_crash(
    cpu: Device, monkeypatch: pytest.MonkeyPatch, message: str, reason: str
) -> None:
    def refuse(make: object, shape: Shape, samples: int) -> object:
        raise RuntimeError(message)

    monkeypatch.setitem(BUILDERS, "dense", refuse)
    with pytest.raises(CannotMeasure) as refused:
        measure_part("dense", DenseShape(8, 4), PartSize(16), cpu, QUICK)
    assert str(refused.value) == reason


def test_the_smallest_variant_of_the_zoo_is_measured_whole(cpu: Device) -> None:
    graph = load_model(
        "ncf", tables=2, user_rows=100, item_rows=100, factors=4, dim=4, top_width=8, top_layers=2
    )
    subject = subject_of_job(make_job(graph, ClusterSpec(2, 1, 100e9), JobSettings()))
    done = measure_subject(
        only_largest(subject),
        cpu,
        None,
        repetitions=QUICK,
        time_limit_s=math.inf,
        save=lambda profile: None,
        on_progress=lambda words, done, total: None,
    )
    assert done.measured == len(subject.operators)


def only_largest(subject: Subject) -> Subject:
    return replace(subject, operators=tuple(replace(op, sizes=(max(op.sizes),)) for op in subject.operators))
