"""A user's own operators, traffic and profile come in whole, or are refused in one line."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.workloads import (
    ProfileTable,
    ProfileTimer,
    Roofline,
    RooflineTimer,
    load_model,
    published_tables,
    read_flexnet_profile,
    read_operators,
    read_traffic_matrix,
)
from topoopt.workloads.traffic import traffic_from_matrix

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ("ops.yaml", "ops.csv", "traffic.csv", "traffic.npy", "measure.json")
ROOFLINE = RooflineTimer(Roofline(1e12, 1e12, {"other": 1.0}, {"other": 1.0}, 1e-6), 4)


def read(path: Path) -> object:
    if path.suffix == ".json":
        return read_flexnet_profile(path)
    if path.stem == "traffic":
        return traffic_from_matrix(read_traffic_matrix(path), str(path))
    return read_operators(path)


def refused(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInput) as raised:
        read(path)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert words in str(raised.value)


# Operators


def test_the_example_operators_are_read() -> None:
    graph = read_operators(EXAMPLES / "operators.yaml")
    users, features, both, score = graph.operators
    assert (graph.name, graph.batch_per_accelerator) == ("ranking", 256)
    assert users.is_embedding
    assert users.parameter_bytes == 256_000_000
    assert users.splits == {"rows", "columns"}
    assert (users.forward_time_s, users.backward_time_s, users.timed_samples) == (0.31e-3, 0.62e-3, 1024)
    assert (features.forward_flops_per_sample, features.forward_time_s) == (2_097_152, None)
    assert both.inputs == (0, 1)
    assert both.memory_traffic_bytes_per_sample == 2 * 4352
    assert (score.parameter_bytes, score.timed_samples, score.backward_time_s) == (4356, 2048, None)


def test_the_csv_example_says_the_same() -> None:
    from_yaml = read_operators(EXAMPLES / "operators.yaml").operators
    from_csv = read_operators(EXAMPLES / "operators.csv", batch_per_accelerator=256)
    assert from_csv.name == "operators"
    assert [op.name for op in from_csv.operators] == [op.name for op in from_yaml]
    assert [op.parameter_bytes for op in from_csv.operators] == [op.parameter_bytes for op in from_yaml]
    assert from_csv.operators[0] == from_yaml[0]
    assert from_csv.operators[2:] == from_yaml[2:]


def test_the_callers_batch_goes_before_the_files() -> None:
    assert read_operators(EXAMPLES / "operators.yaml", batch_per_accelerator=8).batch_per_accelerator == 8


ONE = "operators: [{name: a, inputs: [], activation_bytes: 4, forward_flops: 1"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "expected a mapping"),
        ("operators: []", "operators: expected"),
        (ONE + ", colour: 3}]", 'operators[0]: unknown key "colour"'),
        (ONE + "}]\nbatch_per_gpu: 3", 'unknown key "batch_per_gpu"; did you mean batch_per_accelerator'),
        (ONE + "}]", "batch_per_accelerator is not in the file"),
        ("batch_per_accelerator: 0\n" + ONE + "}]", "batch_per_accelerator: expected an integer >= 1"),
        ("batch_per_accelerator: 1\n" + ONE + ", forward_ms: 2}]", "operators[0]: give either forward_ms"),
        (
            "batch_per_accelerator: 1\noperators: [{name: a, inputs: [], activation_bytes: 4, forward_ms: fast}]",
            "operators[0].forward_ms: expected",
        ),
        (
            "batch_per_accelerator: 1\noperators: [{name: a, inputs: [], activation_bytes: 4, forward_ms: 1}]",
            "operators[0].forward_ms: needs timed_samples",
        ),
        (
            "batch_per_accelerator: 1\noperators: [{name: a, inputs: [], activation_bytes: 4, forward_ms: .nan}]",
            "operators[0].forward_ms: ",
        ),
        ("batch_per_accelerator: 1\n" + ONE + ", backward_ms: 2}]", "backward_ms needs forward_ms"),
        (
            "batch_per_accelerator: 1\n" + ONE + ", parameters: 1, parameter_bytes: 4}]",
            "parameter_bytes, not both",
        ),
        (
            "batch_per_accelerator: 1\n" + ONE + ", parameters: -1}]",
            "operators[0].parameters: expected an integer >= 0 and",
        ),
        (
            "batch_per_accelerator: 1\n" + ONE + f", parameters: {10**400}}}]",
            "operators[0].parameters: expected an integer",
        ),
        (
            "batch_per_accelerator: 1\n" + ONE + ", split: [btach]}]",
            'operators[0].split: unknown name "btach"; did you mean batch',
        ),
        (
            "batch_per_accelerator: 1\noperators: [{name: a, inputs: [b], activation_bytes: 4, forward_flops: 1}]",
            'operators[0].inputs: "b" is not the name',
        ),
        (
            "batch_per_accelerator: 1\n"
            + ONE
            + "}, {name: a, inputs: [], activation_bytes: 4, forward_flops: 1}]",
            'operators[1].name: "a" is the name of operators[0] too',
        ),
        ("operators: [", "not valid YAML"),
        (
            "operators: [{name: a, activation_bytes: 4, forward_flops: 1}]",
            'operators[0]: missing key "inputs"',
        ),
    ],
)
def test_a_wrong_yaml_is_one_line_with_the_place(tmp_path: Path, content: str, words: str) -> None:
    refused(tmp_path, "ops.yaml", content, words)


HEADER = "name,inputs,activation_bytes,forward_flops\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty file"),
        ("name,inputs,activaton_bytes\n", "did you mean activation_bytes"),
        ("name,name\n", "stands twice"),
        (HEADER + "a,,4\n", "operators[0]: expected 4 cells as in the header, got 3"),
        (
            HEADER + "a,,four,1\n",
            'operators[0].activation_bytes: expected an integer >= 0 and <= 1e+18, got "four"',
        ),
        (HEADER + "a,,,1\n", 'operators[0]: missing key "activation_bytes"'),
        (HEADER, "expected a header row and a row for each operator, got the header alone"),
        (HEADER + "a,,4,1\n", "batch_per_accelerator is not in the file"),
        ("name\n\x81".encode("latin-1"), "not a text file"),
    ],
)
def test_a_wrong_csv_is_one_line_with_the_place(tmp_path: Path, content: str | bytes, words: str) -> None:
    refused(tmp_path, "ops.csv", content, words)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read(tmp_path / name)


# Traffic


def test_the_example_traffic_is_read() -> None:
    traffic = traffic_from_matrix(read_traffic_matrix(EXAMPLES / "traffic.csv"))
    assert traffic.servers == 4
    assert traffic.mp_bytes == 20_000_000


def test_csv_and_npy_say_the_same(tmp_path: Path) -> None:
    matrix = read_traffic_matrix(EXAMPLES / "traffic.csv")
    np.save(tmp_path / "traffic.npy", matrix.astype(np.int32))
    assert np.array_equal(read_traffic_matrix(tmp_path / "traffic.npy"), matrix)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty file"),
        ("0,1\n1\n", "row 1: expected 2 cells as in row 0, got 1"),
        ("a,b\n0,1\n1,0\n", 'row 0, column 0: expected bytes, got "a"; a header row'),
        ("0,1,2\n1,0,2\n1,2,many\n", 'row 2, column 2: expected bytes, got "many"'),
        ("0,1_0\n1,0\n", 'row 0, column 1: expected bytes, got "1_0"'),
        ("0,1,2\n1,0,2\n", "expected a square matrix of at least 2×2, got 2×3"),
        ("0\n", "got 1×1"),
        ("0,-1\n1,0\n", "row 0, column 1: bytes must be >= 0"),
        ("0,inf\n1,0\n", "finite"),
    ],
)
def test_a_wrong_traffic_csv_is_one_line(tmp_path: Path, content: str, words: str) -> None:
    refused(tmp_path, "traffic.csv", content, words)


def npy(array: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a NumPy array file"),
        (b"0,1\n1,0\n", "not a NumPy array file"),
        (npy([[0.0, 1.0], [1.0, 0.0]])[:-9], "not a NumPy array file"),
        (npy([["a", "b"], ["c", "d"]]), "expected an array of numbers"),
        (npy([[0.0, 1.0, 2.0]]), "got 1×3"),
        (npy(np.zeros((2, 2, 2))), "got 2×2×2"),
        (npy([[0.0, np.nan], [1.0, 0.0]]), "row 0, column 1"),
    ],
)
def test_a_wrong_npy_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    refused(tmp_path, "traffic.npy", content, words)


def test_an_archive_of_arrays_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros((2, 2)))
    refused(tmp_path, "traffic.npy", buffer.getvalue(), "an archive of arrays")


# FlexNet profiles


def flexnet_json(model: str, index: int = 0, **changes: object) -> str:
    table = [t for t in published_tables() if t.model == model][index]
    dimensions = {"Conv2D": "4-1-1-1", "Pool2D": "4-1-1-1"}
    rows = [
        {
            "name": name,
            "pc_str": f"{dimensions.get(name.split('_')[0], '2-1')}-{round(table.global_batch / m.samples)}",
            "fw_time": m.forward_s * 1e3,
            "bw_time": m.backward_s * 1e3,
            "mem_req": m.memory_bytes,
        }
        for name, measured in table.measurements.items()
        for m in measured
    ]
    content = {"batch_size": table.global_batch, "ngpus": table.servers, "measurements": rows}
    return json.dumps(content | changes)


@pytest.mark.parametrize("table", published_tables(), ids=lambda t: f"{t.model}-{t.global_batch}")
def test_a_published_profile_finds_its_model_again(tmp_path: Path, table: ProfileTable) -> None:
    model, batch = table.model, table.global_batch
    index = [t.global_batch for t in published_tables() if t.model == model].index(batch)
    path = tmp_path / "measure.json"
    path.write_text(flexnet_json(model, index))
    read, graph = read_flexnet_profile(path)
    assert graph is not None
    assert graph == load_model(model, batch_per_accelerator=graph.batch_per_accelerator)
    assert graph.batch_per_accelerator * 4 * read.servers == batch
    timer = ProfileTimer([(read, graph)], ROOFLINE)
    first = graph.operators[-1]
    parts = timer.measured_parts(first, batch)
    time = timer.time(first, batch / parts[0])
    assert time.source == "profile"
    assert time.forward_s == pytest.approx(read.measurements[first.profile_key][-1].forward_s)


def test_another_number_of_tables_is_told_from_the_top(tmp_path: Path) -> None:
    text = flexnet_json("dlrm-16").replace("Dense_5120_2048", "Dense_3072_2048")
    (tmp_path / "m.json").write_text(text)
    _, graph = read_flexnet_profile(tmp_path / "m.json")
    assert graph is not None
    assert sum(op.is_embedding for op in graph.operators) == 8


def test_a_foreign_model_is_read_without_a_graph(tmp_path: Path) -> None:
    rows = [
        {"name": "Dense_3_5", "pc_str": "2-1-4", "fw_time": 1.0, "bw_time": 2.0, "mem_req": 10},
        {"name": "Dense_3_5", "pc_str": "2-2-4", "fw_time": 9.0, "bw_time": 9.0, "mem_req": 10},
    ]
    (tmp_path / "m.json").write_text(json.dumps({"batch_size": 64, "ngpus": 4, "measurements": rows}))
    table, graph = read_flexnet_profile(tmp_path / "m.json")
    assert graph is None
    assert [(m.samples, m.forward_s) for m in table.measurements["Dense_3_5"]] == [(16.0, 1e-3)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (flexnet_json("vgg16-16")[:700], "not a whole JSON file"),
        ("", "not a whole JSON file"),
        ("[" * 100_000, "nested too deeply"),
        ('{"batch_size": ' + "9" * 5000 + "}", "a number too long"),
        (flexnet_json("vgg16-16", batch_size=10**13), "batch_size: expected an integer >= 1 and <= 1e+12"),
        (
            flexnet_json("vgg16-16").replace('"2-1-16"', f'"2-1-{"1" * 5000}"', 1),
            "pc_str: expected the number",
        ),
        ("[1, 2]", "expected a mapping"),
        ('{"name": "taskgraph"}', 'unknown key "name"'),
        (flexnet_json("vgg16-16", batch_size=0), "batch_size: expected an integer >= 1 and <= 1e+12, got 0"),
        (flexnet_json("vgg16-16", measurements=[]), "measurements: expected"),
        (flexnet_json("vgg16-16").replace('"2-1-16"', '"3-1-16"', 1), "pc_str: expected the number"),
        (flexnet_json("vgg16-16").replace('"2-1-16"', '"2-1-0"', 1), "pc_str: expected the number"),
        (flexnet_json("vgg16-16").replace('"fw_time": 0', '"fw_time": -1', 1), "fw_time: expected"),
        (
            flexnet_json("vgg16-16").replace('"fw_time": ', '"fw_time": NaN, "x": ', 1),
            "fw_time: expected a finite number",
        ),
        (b"\x00\x01\x02 binary", "not a text file"),
    ],
)
def test_a_truncated_or_foreign_profile_is_one_line(tmp_path: Path, content: str | bytes, words: str) -> None:
    refused(tmp_path, "measure.json", content, words)


@settings(max_examples=100)
@given(name=st.sampled_from(FILES), content=st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_whatever_a_file_holds_a_reader_refuses_it_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        read(path)
    assert len(str(raised.value).splitlines()) == 1


def test_a_point_measured_twice_in_a_flexnet_profile_is_refused(tmp_path: Path) -> None:
    twice = json.loads(flexnet_json("vgg16-16"))
    twice["measurements"] *= 2
    refused(tmp_path, "measure.json", json.dumps(twice), "parts is measurements[0], too")


def test_a_header_of_npy_that_python_cannot_parse_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    damaged = stream.getvalue().replace(b"'descr': '<f8'", b"'descr': ('<f8")
    (tmp_path / "t.npy").write_bytes(damaged)
    with pytest.raises(InvalidInput, match="not a NumPy array file of plain numbers, or cut short"):
        read_traffic_matrix(tmp_path / "t.npy")


def test_an_npy_of_python_objects_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([[None, 1], [{}, 2]], dtype=object), allow_pickle=True)
    (tmp_path / "t.npy").write_bytes(stream.getvalue())
    with pytest.raises(InvalidInput, match="not a NumPy array file of plain numbers"):
        read_traffic_matrix(tmp_path / "t.npy")
