"""The example programs, whose sizes are worked out by hand or published; neither needs PyTorch."""

import json
import zipfile
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import read_program

MODELS = Path(__file__).parents[3] / "examples" / "models"
RECOMMENDER = str(MODELS / "recommender.pt2")
DENSE = [(13, 512), (512, 256), (256, 64), (64 + 81, 1024), (1024, 1024), (1024, 1)]


def test_the_recommender_is_eight_tables_and_six_dense_layers() -> None:
    graph, words = read_program(RECOMMENDER, {})
    assert (graph.name, graph.batch_per_accelerator) == ("recommender", 256)
    assert words == "a program of torch.export: 17 operators of 48 calls, shapes for 256 samples"
    tables = [op for op in graph.operators if op.kind == "embedding"]
    assert [op.name for op in tables] == [f"tables.{i}" for i in range(8)]
    for table in tables:
        assert table.parameter_bytes == 100_000 * 64 * 4
        assert table.output_bytes_per_sample == 64 * 4
        assert table.forward_flops_per_sample == 20 * 64
        assert table.memory_traffic_bytes_per_sample == 20 * (64 * 4 + 8) + 64 * 4
        assert not table.inputs
        assert table.splits == {"rows", "columns"}
    dense = [op for op in graph.operators if op.kind == "dense"]
    assert [op.parameter_bytes for op in dense] == [4 * (a * b + b) for a, b in DENSE]
    relu = [b if b != 1 else 0 for _, b in DENSE]
    assert [op.forward_flops_per_sample for op in dense] == [
        2 * a * b + more for (a, b), more in zip(DENSE, relu, strict=True)
    ]
    assert all(op.splits == {"batch", "out", "in"} for op in dense)


def test_products_of_pairs_read_the_stack_of_all_nine_vectors() -> None:
    graph, _ = read_program(RECOMMENDER, {})
    named = {op.name: (index, op) for index, op in enumerate(graph.operators)}
    stack, bmm, joined = named["stack"][1], named["bmm"][1], named["cat"][1]
    assert len(stack.inputs) == 9
    assert (bmm.inputs, bmm.forward_flops_per_sample) == ((named["stack"][0],), 2 * 9 * 9 * 64)
    assert joined.inputs == (named["bottom.4"][0], named["bmm"][0])
    assert joined.output_bytes_per_sample == 4 * (64 + 81)


@pytest.fixture
def resnet() -> str:
    pytest.importorskip("onnx", reason="pip install 'topoopt[import]'")
    return str(MODELS / "resnet18.onnx")


def test_resnet18_has_its_published_parameters(resnet: str) -> None:
    graph, words = read_program(resnet, {})
    assert words == "a model in ONNX: 31 operators of 69 calls, shapes for 1 sample"
    assert graph.parameter_bytes == 4 * 11_689_512  # torchvision.models.resnet18
    kinds = [op.kind for op in graph.operators]
    assert (kinds.count("conv2d"), kinds.count("dense"), kinds.count("add")) == (20, 1, 8)
    # torchvision lists 1.814 G multiplications; normalizations and rectifiers join them
    products = sum(op.forward_flops_per_sample for op in graph.operators if op.kind in ("conv2d", "dense"))
    assert products == pytest.approx(2 * 1.814e9, rel=0.01)
    stem = graph.operators[0]
    outputs = 64 * 112 * 112
    assert stem.forward_flops_per_sample == 2 * outputs * 147 + 5 * outputs + outputs
    assert stem.memory_traffic_bytes_per_sample == 4 * (3 * 224 * 224 + outputs)


def test_samples_of_a_named_dimension_change_nothing_a_sample(resnet: str) -> None:
    one, _ = read_program(resnet, {})
    eight, words = read_program(resnet, {"batch": 8})
    assert words.endswith("shapes for 8 samples")
    assert eight.batch_per_accelerator == 8
    assert eight.operators == one.operators


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sample": 3}, "set: sample: of a program of torch.export known are samples and unknown"),
        ({"samples": 0}, "set: samples: expected an integer >= 1, got 0"),
        ({"samples": "-3"}, 'set: samples: expected an integer >= 1, got "-3"'),
        ({"samples": "many"}, 'set: samples: expected an integer >= 1, got "many"'),
        ({"unknown": "ignore"}, 'set: unknown: unknown name "ignore"'),
    ],
)
def test_a_wrong_setting_is_one_line(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_program(RECOMMENDER, settings)
    assert words in str(raised.value)


def test_a_dimension_that_no_input_has(resnet: str) -> None:
    with pytest.raises(
        InvalidInput, match="set: height: no input has a dimension of that name; there are batch"
    ):
        read_program(resnet, {"height": 3})


def test_damaged_files_are_one_line(resnet: str, tmp_path: Path) -> None:
    for source in (RECOMMENDER, resnet):
        whole = Path(source).read_bytes()
        for name, data in (
            ("cut", whole[: len(whole) // 2]),
            ("empty", b""),
            ("other", b"\x08\x96\x01hello" * 9),
        ):
            path = tmp_path / f"{name}{Path(source).suffix}"
            path.write_bytes(data)
            with pytest.raises(InvalidInput) as raised:
                read_program(str(path), {})
            assert str(raised.value).startswith(str(path))
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("value", ["1e400", "1.5", "true", '"256"', "-1", "12345678901234567890"])
@pytest.mark.parametrize("what", ["dtype", "sizes", "normalized_shape"])
def test_a_count_that_is_no_integer_is_refused(what: str, value: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(RECOMMENDER) as given:
        content = json.loads(given.read(next(one for one in given.namelist() if one.endswith("model.json"))))
    graph = content["graph_module"]["graph"]
    tensor = next(one for one in graph["tensor_values"].values() if one["sizes"])
    if what == "dtype":
        tensor["dtype"] = "HERE"
    elif what == "sizes":
        tensor["sizes"][0] = {"as_int": "HERE"}
    elif value != "-1":
        graph["nodes"][-1]["inputs"].append({"name": what, "arg": {"as_ints": ["HERE"]}})
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("m/models/model.json", json.dumps(content).replace('"HERE"', value))
    if (what, value) != ("normalized_shape", "-1"):  # a dimension may be counted from behind
        with pytest.raises(InvalidInput, match=f"{what}: expected an integer (>= -?|<= )[0-9]+, got "):
            read_program(str(path), {})


def test_an_archive_that_fills_the_memory_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("m/models/model.json", b"[" + b"[]," * (2 << 20) + b"[]]")
    with pytest.raises(InvalidInput, match=r"m/models/model\.json: grows beyond 100 times its size"):
        read_program(str(path), {})
