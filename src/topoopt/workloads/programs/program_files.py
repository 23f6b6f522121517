"""Readers of program files as tensor programs: models in ONNX, and archives of torch.export (.pt2), which are read
without PyTorch and without unpickling anything.

References
----------
.. [1] github.com/pytorch/pytorch, ``torch/_export/serde/schema.py``: the JSON of a program; and
   ``torch/export/pt2_archive/constants.py``: its place in the archive.
"""

import importlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.schema.files import parse_json, read_bytes
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, checked_tensor

MODELS = ("models/model.json", "serialized_exported_program.json")
"""Path of the program since PyTorch 2.7, and before, below a folder with the name of the file."""
LARGEST_JSON_BYTES = 2**30
DTYPE_BYTES = {
    **dict.fromkeys((1, 2, 12, 29, 30, 31, 32, 33), 1),
    **dict.fromkeys((3, 6, 13, 28), 2),
    **dict.fromkeys((4, 7, 9, 34), 4),
    **dict.fromkeys((5, 8, 10, 35), 8),
    11: 16,
}
"""Bytes per element by the number of a type in the file."""
FLOATING_DTYPES = (6, 7, 8, 9, 10, 11, 13, 29, 30, 31, 32, 33)
_SAVED = "write it again with torch.export.save"


class _Reader:
    """The graph of a program and its signature."""

    def __init__(self, path: str, graph: Mapping[str, Any], signature: Mapping[str, Any]) -> None:
        self.path = path
        self.graph = graph
        self.specs = [(kind, spec) for row in signature["input_specs"] for kind, spec in row.items()]
        self.results = [(kind, spec) for row in signature["output_specs"] for kind, spec in row.items()]

    def program(self) -> TensorProgram:
        """Return all of it."""
        tensors = {name: self._tensor(name, meta) for name, meta in self.graph["tensor_values"].items()}
        parameters = {
            spec["arg"]["name"]: str(spec["parameter_name"])
            for kind, spec in self.specs
            if kind == "parameter"
        }
        given = (spec["arg"] for kind, spec in self.specs if kind == "user_input")
        made = (spec["arg"] for kind, spec in self.results if kind == "user_output")
        nodes = tuple(node for row in self.graph["nodes"] for node in self._node(row))
        data = tuple(name for argument in given for name in _tensor_names(argument))
        results = tuple(name for argument in made for name in _tensor_names(argument))
        what = "a program of torch.export"
        return TensorProgram(what, self.path, tensors, parameters, data, results, nodes)

    def _tensor(self, name: str, meta: Mapping[str, Any]) -> Tensor:
        number = meta["dtype"]
        if number not in DTYPE_BYTES:
            raise InvalidInput(f"{self.path}: {name}: numbers of type {shown(number)} are not known")
        shape = tuple(self._size(name, size) for size in meta["sizes"])
        return checked_tensor(f"{self.path}: {name}", shape, DTYPE_BYTES[number], number in FLOATING_DTYPES)

    def _size(self, name: str, size: Mapping[str, Any]) -> int:
        if "as_int" in size:
            return int(size["as_int"])
        hint = (size.get("as_expr") or {}).get("hint") or {}
        if "as_int" not in hint:
            raise InvalidInput(
                f"{self.path}: {name}: a dimension has no size, {shown(size)}; export with an example of a fixed size"
            )
        return int(hint["as_int"])

    def _node(self, row: Mapping[str, Any]) -> list[ProgramNode]:
        outputs = tuple(name for argument in row["outputs"] for name in _tensor_names(argument))
        if not outputs:
            return []  # a size, or an assertion about one
        inputs: list[str] = []
        attributes: dict[str, Any] = {}
        for argument in row["inputs"]:
            names = _tensor_names(argument["arg"])
            if names or "as_none" in argument["arg"]:
                inputs.extend(names or ("",))
            else:
                attributes[argument["name"]] = _torch_export_plain(argument["arg"])
        operator = str(row["target"]).removeprefix("torch.ops.")
        operator = operator.rsplit(".", 1)[0] if operator.count(".") > 1 else operator
        # the module that calls an operator, as the model has it; the name in the graph where nothing says it
        stack = str((row.get("metadata") or {}).get("nn_module_stack", ""))
        path = stack.rsplit(";", 1)[-1].split(",")[1] if stack.count(",") > 1 else ""
        own = next((name for output in row["outputs"] for name in _tensor_names(output)), "")
        label = path or str(row.get("name") or own)
        return [ProgramNode(operator, label, tuple(inputs), outputs, attributes)]


MOST_PASSES = 64
"""Most rounds of inference and computing; deep models need only a few."""
MOST_ELEMENTS = 1_000_000
_DRAWN = (
    *("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"),
    "Bernoulli",
)
ELEMENT_BYTES = {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 21, 22, 23, 24), 1),
    **dict.fromkeys((4, 5, 10, 16), 2),
    **dict.fromkeys((1, 6, 12), 4),
    **dict.fromkeys((7, 11, 13, 14), 8),
    15: 16,
}
"""Bytes per element by ``TensorProto.DataType``; numbers of four and of two bits count as one byte."""
FLOATING = (1, 10, 11, 14, 15, 16, 17, 18, 19, 20, 23, 24)
STATISTICS = {"BatchNormalization": (3, 4)}
"""Inputs of an operator that are measured and not trained: mean and variance."""
SUFFIX = ".onnx"


def read_onnx(path: str, sizes: Mapping[str, int], samples: int | None = None) -> TensorProgram:
    """Return the program of an ONNX file; weights that lie in other files are not read.

    Parameters
    ----------
    sizes : mapping
        Sizes of named dimensions; a first dimension that is not in it is ``samples``, or 1.

    Raises
    ------
    InvalidInput
        If the package is missing, the file is no model, or a dimension or a shape is not known.
    """
    data = read_bytes(path)
    try:
        onnx = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
        importlib.import_module("onnx.inliner")
    except ImportError:
        raise InvalidInput(
            f"{path}: reading ONNX needs the package onnx: pip install 'topoopt[import]'"
        ) from None
    model = _model(onnx, data, path)
    constants = {tensor.name for tensor in model.graph.initializer}
    met: dict[str, int] = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            name = dim.dim_param
            if name not in sizes and place:
                raise InvalidInput(
                    f'{path}: input {value.name}: dimension {place} has no size; give set="{name or "NAME"}=128", '
                    "or whatever it is"
                    if name
                    else f"{path}: input {value.name}: dimension {place} has neither size nor name; export it with one"
                )
            met[name] = dim.dim_value = sizes.get(name, samples or 1)
    unknown = [name for name in sizes if name not in met]
    if unknown:
        known = ", ".join(sorted(filter(None, met))) or "none"
        raise InvalidInput(
            f"{path}: set: {unknown[0]}: no input has a dimension of that name; there are {known}"
        )
    try:
        inferred = with_shapes(onnx, model)
    except Exception as error:  # it raises errors of several libraries
        raise InvalidInput(f"{path}: no shapes can be inferred: {error}") from None
    return _program(onnx, inferred.graph, path)


def _model(onnx: Any, data: bytes, path: str) -> Any:
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's, of which there are several
        raise InvalidInput(f"{path}: no model in ONNX, or cut short: {error}") from None
    if not model.graph.node:
        raise InvalidInput(f"{path}: no model in ONNX: it holds no operators")
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return model


def _program(onnx: Any, graph: Any, path: str) -> TensorProgram:
    tensors = dict(_declared(graph, path))
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for name, tensor in constants.items():
        kind = tensor.data_type
        tensors[name] = checked_tensor(f"{path}: {name}", tuple(tensor.dims), _bytes(kind), kind in FLOATING)
    measured = {
        node.input[place]
        for node in graph.node
        for place in STATISTICS.get(node.op_type, ())
        if place < len(node.input)
    }
    parameters = {
        name: name
        for name, tensor in tensors.items()
        if name in constants and tensor.is_floating and tensor.elements > 1 and name not in measured
    }
    data = tuple(value.name for value in graph.input if value.name not in constants)
    results = tuple(value.name for value in graph.output)
    nodes = tuple(_node(onnx, node) for node in graph.node)
    return TensorProgram("a model in ONNX", path, tensors, parameters, data, results, nodes)


def _declared(graph: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors whose shape is known."""
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
        if kind.HasField("shape") and min(sizes, default=0) >= 0:
            number = kind.elem_type
            place = f"{path}: {value.name}"
            yield value.name, checked_tensor(place, tuple(sizes), _bytes(number), number in FLOATING)


def _node(onnx: Any, node: Any) -> ProgramNode:
    attributes = {
        one.name: _plain(onnx.helper.get_attribute_value(one)) for one in node.attribute if one.type < 9
    }
    named = node.domain and node.domain != "ai.onnx"
    operator = f"{node.domain}::{node.op_type}" if named else _plain(node.op_type)
    return ProgramNode(operator, _plain(node.name), tuple(node.input), tuple(node.output), attributes)


def _plain(value: Any) -> Any:
    """Return a number, a text or a list; of a tensor nothing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float | str):
        return value
    return list(value) if hasattr(value, "__iter__") else None


def _bytes(number: int) -> int:
    return ELEMENT_BYTES.get(number, 4)


def with_shapes(onnx: Any, model: Any) -> Any:
    """Return the model with the shapes that can be inferred; values computed from them become constants.

    Raises
    ------
    Exception
        Whatever the inference of ``onnx`` raises on a graph that contradicts itself.
    """
    for _ in range(MOST_PASSES):
        model = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
        found = _computed(onnx, model.graph)
        if not found:
            break
        kept = [node for node in model.graph.node if not set(node.output) <= set(found)]
        del model.graph.node[:]
        model.graph.node.extend(kept)
        model.graph.initializer.extend(
            onnx.numpy_helper.from_array(value, name) for name, value in found.items()
        )
        stale = [value for value in model.graph.value_info if value.name in found]
        for value in stale:
            model.graph.value_info.remove(value)
    return model


def _computed(onnx: Any, graph: Any) -> dict[str, Any]:
    """Return the values of nodes that depend on shapes and on constants that are no weights, by their outputs."""
    shapes = _whole_shapes(graph)
    known: dict[str, Any] = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if _is_plain(tensor)
    }
    found: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "Shape" and node.input[0] in shapes:
            ends = {one.name: one.i for one in node.attribute}
            whole = shapes[node.input[0]]
            value = [np.array(whole[ends.get("start", 0) : ends.get("end", len(whole))], np.int64)]
        elif all(name in known for name in node.input if name) and node.op_type not in _DRAWN:
            value = _run(onnx, node, known)
        else:
            continue
        made = {name: array for name, array in zip(node.output, value, strict=False) if name}
        if value and all(isinstance(one, np.ndarray) and one.size <= MOST_ELEMENTS for one in made.values()):
            known.update(made)
            found.update(made)
    return found


def _run(onnx: Any, node: Any, known: Mapping[str, Any]) -> list[Any]:
    """Return the outputs of a node; none where its own package cannot compute it."""
    try:
        evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(node)
        inputs = {name: known[name] for name in node.input if name}
        return [np.asarray(one) for one in evaluator.run(None, inputs)]
    except Exception:  # whatever its operators raise: then it stays a node
        return []


def _whole_shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim):
            shapes[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
    return shapes


def _is_plain(tensor: Any) -> bool:
    """Return whether a constant is no weight: indices, sizes, or a single number, and not in a file of its own."""
    elements = int(np.prod(tuple(tensor.dims), dtype=np.int64))
    whole = tensor.data_type in (2, 3, 4, 5, 6, 7, 9, 12, 13)
    return elements <= MOST_ELEMENTS and (whole or elements <= 1) and not tensor.external_data


def read_exported(path: str) -> TensorProgram:
    """Return the program of a file that ``torch.export.save`` wrote.

    Dimensions that are not fixed have the size that the program was exported with.

    Raises
    ------
    InvalidInput
        If the file is no such archive, is cut short, or a shape is not known.
    """
    content = parse_json(_json(path), path, foreign=True)
    try:
        module = content["graph_module"]
        return _Reader(path, module["graph"], module["signature"]).program()
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput(
            f"{path}: no program of torch.export that is known here: {reason}; {_SAVED}"
        ) from None


def _json(path: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            name = next((one for one in archive.namelist() if one.endswith(MODELS)), None)
            if name is None:
                raise InvalidInput(f"{path}: an archive without {' or '.join(MODELS)}; {_SAVED}")
            if archive.getinfo(name).file_size > LARGEST_JSON_BYTES:
                raise InvalidInput(f"{path}: {name}: larger than {LARGEST_JSON_BYTES >> 30} GiB")
            return archive.read(name).decode("utf-8")
    except (zipfile.BadZipFile, EOFError, OSError, UnicodeDecodeError, RuntimeError) as error:
        raise InvalidInput(f"{path}: no archive of torch.export, or cut short: {error}; {_SAVED}") from None


def _tensor_names(argument: Mapping[str, Any]) -> tuple[str, ...]:
    for kind, value in argument.items():
        if kind == "as_tensor":
            return (str(value["name"]),)
        if kind == "as_tensors":
            return tuple(str(one["name"]) for one in value)
        if kind == "as_optional_tensors":
            return tuple(str(one["as_tensor"]["name"]) if "as_tensor" in one else "" for one in value)
        if kind == "as_optional_tensor":
            return _tensor_names(value) or ("",)
    return ()


def _torch_export_plain(argument: Mapping[str, Any]) -> Any:
    """Return the value of an argument that is no tensor; a list of sizes without variable ones."""
    for kind, value in argument.items():
        if kind == "as_sym_ints":
            return [one.get("as_int") for one in value]
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return None
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return None
