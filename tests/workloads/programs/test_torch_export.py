"""Programs that PyTorch exports here: parameters are the model's, FLOPs those that PyTorch's own counter finds."""

import itertools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import OperatorGraph, read_program

torch = pytest.importorskip("torch", reason="pip install torch: models are exported here")
nn = torch.nn
PRODUCTS = ("dense", "matmul", "attention", "conv2d")


class Block(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        shape = batch, length, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.first(x)).view(shape).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Language(nn.Module):  # type: ignore[misc, name-defined]
    """A small transformer whose last layer has the weights of its table."""

    def __init__(self, blocks: int = 2, words: int = 1000, width: int = 64, length: int = 32) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Any) -> Any:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Vision(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.one, self.norm = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        self.two, self.three = nn.Conv2d(16, 16, 3, 1, 1), nn.Conv2d(16, 32, 3, 2, 1, groups=2)
        self.back, self.last = nn.ConvTranspose2d(32, 8, 2, 2), nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.one(x))), 3, 2, 1)
        x = torch.relu(self.three(torch.relu(x + self.two(x))))
        return self.last(torch.flatten(nn.functional.adaptive_avg_pool2d(self.back(x), 1), 1))


class Recurrent(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells = nn.Embedding(100, 32), nn.LSTM(32, 64, 2, batch_first=True)
        self.last = nn.Linear(64, 5)

    def forward(self, tokens: Any) -> Any:
        return self.last(self.cells(self.words(tokens))[0][:, -1])


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "language": (Language, lambda: torch.randint(0, 1000, (4, 32))),
    "vision": (lambda: Vision().eval(), lambda: torch.randn(4, 3, 64, 64)),
}
"""Models, and what goes in."""


def exported(model: Any, example: tuple[Any, ...], path: Path, **more: Any) -> str:
    torch.export.save(torch.export.export(model, example, **more), path)
    return str(path)


def products(graph: OperatorGraph) -> float:
    """Return the FLOPs of matrix products alone, for all samples, without what has joined them."""
    bare = [op for op in graph.operators if op.kind in PRODUCTS]
    return sum(op.forward_flops_per_sample for op in bare) * graph.batch_per_accelerator


@pytest.mark.filterwarnings("ignore")  # of PyTorch, about itself
@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_the_models_and_flops_those_of_pytorchs_counter(name: str, tmp_path: Path) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: PLC0415 - only where PyTorch is
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    make, example = MODELS[name]
    model, inputs = make(), example()
    graph, _ = read_program(exported(model, (inputs,), tmp_path / "m.pt2"), {})
    assert graph.parameter_bytes == 4 * sum(one.numel() for one in model.parameters())
    with (
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):  # it knows no fused one on CPUs
        model(inputs)
    counted = counter.get_total_flops()
    # what is pointwise joins a product: at most six operations for each number that comes out of one
    made = sum(op.output_bytes_per_sample / 4 for op in graph.operators if op.kind in PRODUCTS)
    assert counted <= products(graph) <= counted + 6 * made * graph.batch_per_accelerator
    assert graph.batch_per_accelerator == 4


@pytest.mark.filterwarnings("ignore")
def test_a_transformer_is_read_operator_by_operator(tmp_path: Path) -> None:
    graph, words = read_program(exported(Language(), (torch.randint(0, 9, (4, 32)),), tmp_path / "m.pt2"), {})
    assert "20 operators" in words
    named = {op.name: op for op in graph.operators}
    attention = next(op for op in graph.operators if op.kind == "attention")
    assert attention.forward_flops_per_sample == 4 * 32 * 32 * 64
    assert named["blocks.0.up"].forward_flops_per_sample == 2 * 32 * 64 * 256 + 32 * 256
    assert named["blocks.0.up"].splits == {"batch", "out", "in"}
    words_table = graph.operators[0]
    assert (words_table.kind, words_table.inputs) == ("lookup", ())
    assert {weight.size_bytes for weight in words_table.weights} == {1000 * 64 * 4, 32 * 64 * 4}
    # the last layer reads the table's weights: no second AllReduce, and still two gradients
    assert (named["head"].kind, named["head"].weights) == ("matmul", ())
    assert named["head"].forward_flops_per_sample == 2 * 32 * 64 * 1000


@pytest.mark.filterwarnings("ignore")
def test_recurrent_layers_count_their_matrices_at_every_position(tmp_path: Path) -> None:
    graph, _ = read_program(
        exported(Recurrent().eval(), (torch.randint(0, 9, (4, 7)),), tmp_path / "m.pt2"), {}
    )
    cells = next(op for op in graph.operators if op.name == "cells")
    assert cells.forward_flops_per_sample == 2 * 7 * 4 * 64 * (32 + 64 + 64 + 64)
    assert cells.parameter_bytes == 4 * (4 * 64 * (32 + 64 + 64 + 64) + 4 * 4 * 64)


@pytest.mark.filterwarnings("ignore")
def test_half_precision_is_sent_in_two_bytes(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 4)).to(torch.bfloat16)
    graph, _ = read_program(
        exported(model, (torch.randn(2, 8, dtype=torch.bfloat16),), tmp_path / "m.pt2"), {}
    )
    assert [op.parameter_bytes for op in graph.operators] == [2 * (8 * 16 + 16), 2 * (16 * 4 + 4)]
    assert [op.output_bytes_per_sample for op in graph.operators] == [32, 8]
    assert graph.operators[0].memory_traffic_bytes_per_sample == 4 * (8 + 16)


@pytest.mark.filterwarnings("ignore")
def test_a_batch_of_any_size_is_that_of_the_example(tmp_path: Path) -> None:
    some = torch.export.Dim("some", min=2, max=512)
    model = nn.Linear(8, 16)
    path = exported(model, (torch.randn(32, 8),), tmp_path / "m.pt2", dynamic_shapes=({0: some},))
    graph, _ = read_program(path, {})
    assert graph.batch_per_accelerator == 32
    assert graph.operators[0].forward_flops_per_sample == 2 * 8 * 16


@pytest.mark.filterwarnings("ignore")
def test_an_operator_that_nobody_knows_is_named_and_counted_by_its_bytes_if_asked(tmp_path: Path) -> None:
    from torch import library  # noqa: PLC0415 - only where PyTorch is

    number = next(COUNT)

    @library.custom_op(f"lab{number}::twist", mutates_args=())  # type: ignore[untyped-decorator]
    def twist(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x.flip(1)

    twist.register_fake(lambda x: torch.empty_like(x))  # noqa: PLW0108 - called by the name of x

    class Twisted(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return twist(twist(self.inner(x)))

    path = exported(Twisted(), (torch.randn(2, 8),), tmp_path / "m.pt2")
    with pytest.raises(
        InvalidInput, match=rf"operators that are not known: lab{number}\.twist \(2\); count them"
    ):
        read_program(path, {})
    graph, words = read_program(path, {"unknown": "bytes"})
    assert words.endswith(f"by their bytes alone: lab{number}.twist")
    strange = [op for op in graph.operators if op.kind == "twist"]
    assert [(op.forward_flops_per_sample, op.memory_traffic_bytes_per_sample) for op in strange] == [
        (0.0, 64.0)
    ] * 2


@pytest.mark.filterwarnings("ignore")
def test_inputs_of_different_lengths_need_a_word(tmp_path: Path) -> None:
    class Odd(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            return (x[:, None] * y[None, :]).sum(0)

    path = exported(Odd(), (torch.randn(4), torch.randn(6)), tmp_path / "m.pt2")
    graph, _ = read_program(path, {})  # the output has as many as y
    assert graph.batch_per_accelerator == 6

    class Sum(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            return (x[:, None] * y[None, :]).sum()

    path = exported(Sum(), (torch.randn(4), torch.randn(6)), tmp_path / "n.pt2")
    with pytest.raises(InvalidInput, match=r'do not say how many \(x 4, y 6\); give set="samples=8"'):
        read_program(path, {})
    assert read_program(path, {"samples": 4})[0].batch_per_accelerator == 4


@pytest.mark.filterwarnings("ignore")
def test_the_archive_of_older_versions_is_read_too(tmp_path: Path) -> None:
    path = exported(nn.Linear(8, 16), (torch.randn(2, 8),), tmp_path / "m.pt2")
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if one.endswith("models/model.json"))
        content = json.loads(archive.read(name))
    older = tmp_path / "older.pt2"
    with zipfile.ZipFile(older, "w") as archive:
        archive.writestr("serialized_exported_program.json", json.dumps(content))
    assert read_program(str(older), {})[0].operators == read_program(path, {})[0].operators


COUNT = itertools.count()
