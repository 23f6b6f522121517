"""What is a weight of a model in ONNX, however it is written; files that would cost much are refused before they do.

The models of the package ``onnx`` have the weights that were published for them, made by ConstantOfShape.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import read_program

onnx = pytest.importorskip("onnx", reason="pip install 'topoopt[import]'")
FLOAT, INT64 = 1, 7
WIDE = 1100
"""Its square is above a million."""
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
PUBLISHED = {
    "bvlc_alexnet": 60_965_224,
    "resnet50": 25_557_032,
    "squeezenet": 1_235_496,
    "vgg19": 143_667_240,
}


def tensor(name: str, value: Any, kind: Any = np.float32) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(value, kind), name)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def written(
    path: Path,
    nodes: Sequence[Any],
    constants: Sequence[Any] = (),
    functions: Sequence[Any] = (),
    width: int = 8,
) -> str:
    given = [onnx.helper.make_tensor_value_info("x", FLOAT, ["batch", width])]
    made = [onnx.helper.make_tensor_value_info("y", FLOAT, None)]
    graph = onnx.helper.make_graph(list(nodes), "g", given, made, list(constants))
    sets = [onnx.helper.make_opsetid("", 19), onnx.helper.make_opsetid("lab", 1)]
    path.write_bytes(
        onnx.helper.make_model(graph, opset_imports=sets, functions=list(functions)).SerializeToString()
    )
    return str(path)


def parameter_bytes(path: str) -> int:
    return sum(op.parameter_bytes for op in read_program(path, {})[0].operators)


SQUARE = np.zeros((WIDE, WIDE), np.float32)
WAYS: dict[str, tuple[list[Any], list[Any], int]] = {
    "initializer": ([], [tensor("w", SQUARE)], 4),
    "Constant": ([node("Constant", "", "w", value=tensor("", SQUARE))], [], 4),
    "ConstantOfShape": (
        [node("ConstantOfShape", "s", "w", value=tensor("", [0.5]))],
        [tensor("s", [WIDE, WIDE], np.int64)],
        4,
    ),
    "DequantizeLinear": (
        [node("DequantizeLinear", "q s z", "w")],
        [tensor("q", SQUARE, np.int8), tensor("s", 0.1), tensor("z", 0, np.int8)],
        4,
    ),
    "DequantizeLinear, by columns": (
        [node("DequantizeLinear", "q s z", "w", axis=1)],
        [tensor("q", SQUARE, np.int8), tensor("s", [0.1] * WIDE), tensor("z", [0] * WIDE, np.int8)],
        4,
    ),
    "DequantizeLinear of float8": (
        [node("DequantizeLinear", "q s", "w")],
        [onnx.helper.make_tensor("q", 17, [WIDE, WIDE], bytes(WIDE**2), raw=True), tensor("s", 0.1)],
        4,
    ),
    "numbers of a table": (
        [node("Gather", "table q", "w")],
        [tensor("table", np.zeros(16)), tensor("q", SQUARE, np.int64)],
        4,
    ),
    "of half the precision": ([node("Cast", "h", "w", to=FLOAT)], [tensor("h", SQUARE, np.float16)], 2),
    "transposed": ([node("Transpose", "h", "w", perm=[1, 0])], [tensor("h", SQUARE)], 4),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_weight_is_one_however_it_is_written(way: str, tmp_path: Path) -> None:
    nodes, constants, element_bytes = WAYS[way]
    path = written(tmp_path / "m.onnx", [*nodes, node("MatMul", "x w", "y")], constants, width=WIDE)
    assert parameter_bytes(path) == element_bytes * WIDE**2


SCALES = [tensor("s", 0.1), tensor("z", 0, np.uint8)]
QUANTIZED: dict[str, tuple[list[Any], int]] = {
    "QLinearMatMul": (
        [
            node("QuantizeLinear", "x s z", "q"),
            node("QLinearMatMul", "q s z w s z s z", "h"),
            node("DequantizeLinear", "h s z", "y"),
        ],
        64,
    ),
    "MatMulInteger": (
        [
            node("DynamicQuantizeLinear", "x", "q qs qz"),
            node("MatMulInteger", "q w qz", "h"),
            node("Add", "h b", "i"),
            node("Cast", "i", "y", to=FLOAT),
        ],
        64 + 8,
    ),
    "QLinearConv": (
        [
            node("Reshape", "x image", "r"),
            node("QuantizeLinear", "r s z", "q"),
            node("QLinearConv", "q s z kernel s z s z b", "h"),
            node("DequantizeLinear", "h s z", "y"),
        ],
        8 * 8 * 9 + 8,
    ),
    "Gather and Cast": (
        [
            node("ArgMax", "x", "i", axis=1),
            node("Gather", "w i", "g"),
            node("Cast", "g", "y", to=FLOAT),
        ],
        64,
    ),
    "Gather and DequantizeLinear": (
        [
            node("ArgMax", "x", "i", axis=1),
            node("Gather", "w i", "g"),
            node("DequantizeLinear", "g s z", "y"),
        ],
        64,
    ),
}
OPERANDS = [
    *SCALES,
    *(tensor("w", np.zeros((8, 8)), np.uint8), tensor("b", np.zeros(8), np.int32)),
    *(tensor("kernel", np.zeros((8, 8, 3, 3)), np.uint8), tensor("image", [-1, 8, 1, 1], np.int64)),
]


@pytest.mark.parametrize("way", QUANTIZED)
def test_operators_on_whole_numbers_count_as_those_on_float32(way: str, tmp_path: Path) -> None:
    nodes, elements = QUANTIZED[way]
    if way == "QLinearConv":
        nodes[2].attribute.append(onnx.helper.make_attribute("pads", [1, 1, 1, 1]))
    path = written(tmp_path / "m.onnx", nodes, OPERANDS)
    assert parameter_bytes(path) == 4 * elements


def test_quantized_activations_join_operators_as_others_do(tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearMatMul", "q s z w s z s z", "h"),
        node("QLinearMatMul", "h s z v s z s z", "i"),
        node("DequantizeLinear", "i s z", "y"),
    ]
    weights = [tensor(name, np.zeros((8, 8)), np.uint8) for name in "wv"]
    _, first, second = read_program(written(tmp_path / "m.onnx", nodes, [*SCALES, *weights]), {})[0].operators
    assert (first.kind, first.forward_flops_per_sample, second.inputs) == ("dense", 2 * 64, (1,))


def test_a_mask_of_uint8_is_no_weight(tmp_path: Path) -> None:
    nodes = [node("Cast", "m", "mask", to=9), node("MatMul", "x w", "h"), node("Where", "mask h x", "y")]
    constants = [tensor("m", np.ones((1, 8)), np.uint8), tensor("w", np.zeros((8, 8)))]
    assert parameter_bytes(written(tmp_path / "m.onnx", nodes, constants)) == 4 * 64


@pytest.mark.parametrize(("kind", "element_bytes"), [(np.uint8, 1), (np.int64, 8), (np.float32, 4)])
def test_an_unknown_operator_counts_the_bytes_of_its_constants(
    kind: Any, element_bytes: int, tmp_path: Path
) -> None:
    nodes = [onnx.helper.make_node("Foo", ["x", "w"], ["h"], domain="lab"), node("MatMul", "h v", "y")]
    constants = [tensor("w", np.zeros((8, 8)), kind), tensor("v", np.zeros((8, 8)))]
    path = written(tmp_path / "m.onnx", nodes, constants)
    with pytest.raises(InvalidInput, match=r"operators that are not known: lab::Foo \(1\)"):
        read_program(path, {})
    path = written(tmp_path / "n.onnx", nodes[:1], constants)
    graph, _ = read_program(path, {"unknown": "bytes"})
    assert [op.parameter_bytes for op in graph.operators] == [element_bytes * 64]


def test_a_constant_of_a_function_that_is_called_twice_counts_once(tmp_path: Path) -> None:
    body = [node("Constant", "", "w", value=tensor("", np.zeros((8, 8)))), node("MatMul", "a w", "b")]
    layer = onnx.helper.make_function("lab", "layer", ["a"], ["b"], body, [onnx.helper.make_opsetid("", 19)])
    calls = [onnx.helper.make_node("layer", [read], [made], domain="lab") for read, made in ("xh", "hy")]
    assert parameter_bytes(written(tmp_path / "m.onnx", calls, functions=[layer])) == 4 * 64


def test_bytes_that_are_not_those_of_the_dimensions_and_negative_sizes_are_refused(tmp_path: Path) -> None:
    short = onnx.TensorProto(name="w", data_type=FLOAT, dims=[8, 9], raw_data=bytes(256))
    path = written(tmp_path / "m.onnx", [node("MatMul", "x w", "y")], [short])
    with pytest.raises(InvalidInput, match=r"w: 256 bytes for dimensions \[8, 9\]: expected 288"):
        read_program(path, {})
    nodes = [node("ConstantOfShape", "n", "w"), node("MatMul", "x w", "y")]
    path = written(tmp_path / "n.onnx", nodes, [tensor("n", [-5, 2], np.int64)])
    with pytest.raises(InvalidInput, match=r"ConstantOfShape: w of sizes \[-5, 2\]: expected sizes >= 0"):
        read_program(path, {})


def test_what_is_made_of_the_shape_of_an_input_is_no_weight(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("ConstantOfShape", "s", "mask", value=tensor("", [1.0])),
        node("MatMul", "x w", "h"),
        node("Add", "h mask", "y"),
    ]
    assert parameter_bytes(written(tmp_path / "m.onnx", nodes, [tensor("w", np.zeros((8, 8)))])) == 4 * 64


def test_a_weight_of_two_readers_and_its_transposed_one_count_once(tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "h"), node("Transpose", "w", "t"), node("MatMul", "h t", "y")]
    assert parameter_bytes(written(tmp_path / "m.onnx", nodes, [tensor("w", np.zeros((8, 8)))])) == 4 * 64


def test_weights_in_the_branches_of_a_condition_count(tmp_path: Path) -> None:
    branches = {
        name: onnx.helper.make_graph(
            [
                node("Constant", "", name, value=tensor("", np.zeros(8))),
                node("Add", f"x {name}", f"y_{name}"),
            ],
            name,
            [],
            [onnx.helper.make_tensor_value_info(f"y_{name}", FLOAT, ["batch", 8])],
        )
        for name in ("then_branch", "else_branch")
    }
    nodes = [node("If", "yes", "h", **branches), node("Relu", "h", "y")]
    path = written(tmp_path / "m.onnx", nodes, [tensor("yes", True, np.bool_)])
    with pytest.raises(InvalidInput, match=r"operators that are not known: If \(1\)"):
        read_program(path, {})
    graph, _ = read_program(path, {"unknown": "bytes"})
    assert sum(op.parameter_bytes for op in graph.operators) == 2 * 4 * 8


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_models_have_their_published_parameters(model: str) -> None:
    path = DATA / "light" / f"light_{model}.onnx"
    if not path.exists():
        pytest.skip("this version of onnx does not ship it")
    assert parameter_bytes(str(path)) == 4 * PUBLISHED[model]


def operand_bytes(path: Path) -> int:
    """Return the bytes of all constants that calls on data read, from the shapes that onnx itself infers."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    graph = model.graph
    constants = {one.name for one in graph.initializer}
    sizes = {one.name: (one.data_type, int(np.prod(one.dims))) for one in graph.initializer}
    for one in graph.value_info:
        kind = one.type.tensor_type
        sizes[one.name] = kind.elem_type, int(np.prod([dim.dim_value for dim in kind.shape.dim]))
    live = {one.name for one in graph.input} - constants
    read = set()
    for call in graph.node:
        if not live & set(call.input):
            continue
        live |= set(call.output)
        measured = call.input[3:5] if call.op_type == "BatchNormalization" else ()
        read |= {name for name in set(call.input) - live - set(measured) if name}
    return sum(4 * sizes[name][1] for name in read if sizes[name][0] == FLOAT and sizes[name][1] > 1)


@pytest.mark.parametrize("part", sorted(one.name for one in (*DATA.glob("light/*"), *DATA.glob("*"))))
def test_in_every_file_of_the_package_parameters_are_the_constants_that_calls_read(part: str) -> None:
    for path in [DATA / "light" / part, *(DATA / part).glob("*/*.onnx")]:
        if path.suffix == ".onnx":
            with suppress(InvalidInput):  # nothing to train, or no samples
                assert parameter_bytes(str(path)) == operand_bytes(path), path


def function(number: int, *calls: int) -> Any:
    """Return a function that calls others, one after the other."""
    names = ["a", *(f"m{place}" for place in range(len(calls) - 1)), "b"]
    nodes = [
        onnx.helper.make_node(f"f{call}", [names[place]], [names[place + 1]], domain="lab")
        for place, call in enumerate(calls)
    ]
    sets = [onnx.helper.make_opsetid("", 19), onnx.helper.make_opsetid("lab", 1)]
    nodes = nodes or [onnx.helper.make_node("Relu", ["a"], ["b"])]
    return onnx.helper.make_function("lab", f"f{number}", ["a"], ["b"], nodes, sets)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([function(0), *(function(k, k - 1, k - 1) for k in range(1, 29))], "805,306,368 calls of operators"),
        ([function(k, 28) for k in range(29)], "the function f28 calls itself"),
        ([function(k, (k + 1) % 29) for k in range(29)], "the function f28 calls itself"),
    ],
)
def test_functions_that_double_or_call_themselves_are_refused(
    functions: list[Any], message: str, tmp_path: Path
) -> None:
    first = onnx.helper.make_node("f28", ["x"], ["h"], domain="lab")
    path = written(
        tmp_path / "m.onnx", [first, node("MatMul", "h w", "y")], [tensor("w", np.zeros((8, 8)))], functions
    )
    with pytest.raises(InvalidInput, match=message):
        read_program(path, {})


def test_a_function_is_written_out(tmp_path: Path) -> None:
    functions = [function(0), *(function(k, k - 1, k - 1) for k in range(1, 4))]
    first = onnx.helper.make_node("f3", ["x"], ["h"], domain="lab")
    nodes = [first, node("MatMul", "h w", "y")]
    path = written(tmp_path / "m.onnx", nodes, [tensor("w", np.zeros((8, 8)))], functions)
    assert read_program(path, {})[1].startswith("a model in ONNX: 2 operators of 9 calls")


def test_values_that_are_large_or_slow_are_not_computed(tmp_path: Path) -> None:
    """A loop of 2**62 rounds, a constant of 8 GiB, a table of 2**30 rows, a list that doubles 30 times."""
    body = onnx.helper.make_graph(
        [node("Identity", "go", "on"), node("Add", "v v", "w")],
        "body",
        [
            onnx.helper.make_tensor_value_info(name, kind, [])
            for name, kind in (("i", INT64), ("go", 9), ("v", FLOAT))
        ],
        [onnx.helper.make_tensor_value_info(name, kind, []) for name, kind in (("on", 9), ("w", FLOAT))],
    )
    nodes = [
        onnx.helper.make_node("Loop", ["rounds", "yes", "start"], ["last"], body=body),
        node("ConstantOfShape", "huge", "ones", value=tensor("", [1], np.int64)),
        node("NonZero", "ones", "places"),
        node("OneHot", "rounds depth pair", "rows"),
        *(node("Concat", f"l{k} l{k}", f"l{k + 1}", axis=0) for k in range(30)),
        node("Gemm", "x w", "y"),
    ]
    constants = [
        *(tensor("rounds", 2**62, np.int64), tensor("yes", True, np.bool_), tensor("start", 0.0)),
        *(tensor("huge", [2**15, 2**15], np.int64), tensor("depth", 2**30, np.int64)),
        *(tensor("pair", [0, 1], np.int64), tensor("l0", [1, 2], np.int64), tensor("w", np.zeros((8, 8)))),
    ]
    assert parameter_bytes(written(tmp_path / "m.onnx", nodes, constants)) == 4 * 64


@pytest.mark.parametrize(
    ("kind", "inputs", "values"),
    [
        ("Range", "a b c", (0, 2**40, 1)),
        ("Tile", "x a", ([1, 2**40],)),
        ("Expand", "x a", ([2**40, 1, 1],)),
        ("Pad", "x a", ([0, 0, 0, 2**40],)),
        ("ConstantOfShape", "a", ([8, 2**40],)),
    ],
)
def test_a_tensor_beyond_the_memory_of_any_accelerator_is_refused(
    kind: str, inputs: str, values: Sequence[Any], tmp_path: Path
) -> None:
    constants = [tensor(name, value, np.int64) for name, value in zip("abc", values, strict=False)]
    nodes = [node(kind, inputs, "huge"), node("MatMul", "x w", "y")]
    path = written(tmp_path / "m.onnx", nodes, [*constants, tensor("w", np.zeros((8, 8)))])
    with pytest.raises(InvalidInput, match=f"m.onnx: {kind}: makes huge of .* bytes a sample, at most"):
        read_program(path, {})


def test_what_is_made_of_ever_more_weights_is_refused(tmp_path: Path) -> None:
    count = 2200
    nodes = [node("Add", f"a{k} w{k}", f"a{k + 1}") for k in range(count)]
    constants = [
        onnx.helper.make_tensor(f"{name}", FLOAT, [2], [0, 0])
        for name in ("a0", *(f"w{k}" for k in range(count)))
    ]
    path = written(tmp_path / "m.onnx", [*nodes, node("MatMul", f"x a{count}", "y")], constants, width=2)
    with pytest.raises(InvalidInput, match="in more than 2,000,000 ways"):
        read_program(path, {})


def test_calls_in_the_wrong_order_and_damaged_files_are_one_line(tmp_path: Path) -> None:
    weight = [tensor("w", np.zeros((8, 8)))]
    path = written(tmp_path / "m.onnx", [node("Relu", "h", "y"), node("MatMul", "x w", "h")], weight)
    with pytest.raises(InvalidInput, match="h is read before a call makes it"):
        read_program(path, {})
    path = written(tmp_path / "m.onnx", [node("MatMul", "x w", "y"), node("Relu", "x", "y")], weight)
    with pytest.raises(InvalidInput, match="y is made twice"):
        read_program(path, {})
    Path(path).write_bytes(Path(path).read_bytes()[:-7])
    with pytest.raises(InvalidInput, match="no model in ONNX, or cut short: "):
        read_program(path, {})
