"""Reader of models in ONNX as tensor programs: shapes node by node, and the weights by the flow of data.

A tensor to which no path leads from an input of the model is a constant, however large it is and whatever makes it: an
initializer, a Constant, a ConstantOfShape, whole numbers behind a DequantizeLinear. A constant of floating-point
numbers that a call on data reads is a weight; where it is computed of other ones, these are the weights. A tensor that
depends on the shape of an input alone, such as a mask, is none.

Values are computed where they are small and cheap, since sizes depend on them. The cost of a file is checked first.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.base.extras import library
from topoopt.schema.files import decoding, read_bytes
from topoopt.workloads.programs import tensor_program as roles
from topoopt.workloads.programs.onnx_constants import (
    OPERANDS,
    QUANTIZED_BY_USE,
    QUANTIZED_KINDS,
    captured_tensors,
    check_bytes,
    mark_constants,
    nested_calls,
    nested_constants,
    operator_of,
    quantized_tensors,
    share_constants,
    tensors_of_bytes,
)
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, checked_tensor

SUFFIX = ".onnx"
MOST_CALLS = 100_000
"""Calls of a model whose functions are written out; large language models have about 10,000."""
MOST_FUNCTION_BYTES = 2**28
"""Bytes of the bodies that are written out; each call of a function is one."""
DEEPEST_FUNCTIONS = 50
MOST_MADE_BYTES = 2**38
"""Bytes of a tensor that a call makes, about the memory of the largest accelerator."""
MOST_ELEMENTS = 1_000_000
"""Numbers of a value that is computed, and 16 times as many are in all values together."""
_MOST_TOGETHER = 16 * MOST_ELEMENTS
_MOST_OF_SLOW = 4096
_SLOW = frozenset(
    {
        *("Resize", "Upsample", "GridSample", "GatherND", "GatherElements", "Scatter", "ScatterElements"),
        *("ScatterND", "ReverseSequence", "RotaryEmbedding", "OneHot", "Compress", "Unique", "TopK"),
    }
)
"""Operators that the reference computes number by number."""
_BY_VALUE = ("NonZero", "Unique", "Compress")
"""Operators whose outputs are as long as values say, and no longer than their inputs are."""
_DRAWN = frozenset(("RandomNormalLike", "RandomUniformLike", "Bernoulli"))
_COMPUTED = (roles.CONSTANT, roles.VIEW, roles.POINTWISE, roles.REDUCTION, roles.CONCAT, roles.TABLE)
_OF_A_SHAPE = ("Shape", "Size")
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


def read_onnx(path: str, sizes: Mapping[str, int], samples: int | None = None) -> TensorProgram:
    """Return the program of an ONNX file; weights that lie in other files are not read.

    Parameters
    ----------
    sizes : mapping
        Sizes of named dimensions; a first dimension that is not in it is ``samples``, or 1.

    Raises
    ------
    InvalidInput
        If the package is missing, the file is no model or costs too much, or a dimension or a shape is not known.
    """
    data = read_bytes(path)
    onnx = library("onnx", "import", path)
    for part in ("shape_inference", "inliner", "reference"):
        library(f"onnx.{part}", "import", path)
    with decoding(path, "no model in ONNX, or cut short"):
        model = onnx.load_model_from_string(data)
    if not model.graph.node:
        raise InvalidInput(f"{path}: no model in ONNX: it holds no operators")
    _check_cost(model, path)
    if model.functions:
        with decoding(path, "its functions cannot be written out", "export it without functions"):
            mark_constants(model.functions)
            model = onnx.inliner.inline_local_functions(model)
            share_constants(model.graph.node, onnx.helper.make_node)
    _set_sizes(model.graph, path, sizes, samples)
    with decoding(path, "no model in ONNX that is known here", "export it again"):
        return _Graph(onnx, model, path).program()


def _set_sizes(graph: Any, path: str, sizes: Mapping[str, int], samples: int | None) -> None:
    """Set the dimensions of the inputs that have no size."""
    constants = {tensor.name for tensor in graph.initializer}
    met: dict[str, int] = {}
    for value in graph.input:
        if value.name in constants:
            continue
        if not value.type.tensor_type.HasField("shape"):
            raise InvalidInput(
                f"{path}: input {value.name}: no tensor, or without a shape; export it with one"
            )
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


def _check_cost(model: Any, path: str) -> None:
    """Refuse a model that is too large with its functions written out; each may call others, and so double."""
    bodies = {(one.domain, one.name): one for one in model.functions}
    costs: dict[tuple[str, str], tuple[int, int, int]] = {}

    def cost(
        nodes: Sequence[Any], size_bytes: int, above: tuple[tuple[str, str], ...]
    ) -> tuple[int, int, int]:
        """Return calls, bytes and levels of functions."""
        calls, levels = 0, 0
        for node in nested_calls(nodes):
            calls += 1
            key = (node.domain, node.op_type)
            if key not in bodies:
                continue
            if key in above or len(above) > DEEPEST_FUNCTIONS:
                what = "calls itself" if key in above else f"is more than {DEEPEST_FUNCTIONS} calls deep"
                raise InvalidInput(f"{path}: the function {key[1]} {what}; export it without functions")
            if key not in costs:
                body = bodies[key]
                costs[key] = cost(body.node, body.ByteSize(), (*above, key))
            more = costs[key]
            calls, size_bytes, levels = calls + more[0], size_bytes + more[1], max(levels, 1 + more[2])
        return calls, size_bytes, levels

    calls, size_bytes, levels = cost(model.graph.node, 0, ())
    if levels > DEEPEST_FUNCTIONS:
        raise InvalidInput(f"{path}: functions are more than {DEEPEST_FUNCTIONS} calls deep")
    if calls > MOST_CALLS or size_bytes > MOST_FUNCTION_BYTES:
        raise InvalidInput(
            f"{path}: {calls:,} calls of operators, {size_bytes:,} bytes of functions, if all functions are written "
            f"out; at most {MOST_CALLS:,} and {MOST_FUNCTION_BYTES:,} are read"
        )


def _checked(place: str, sizes: Sequence[int], kind: int) -> Tensor:
    return checked_tensor(place, tuple(sizes), ELEMENT_BYTES.get(kind, 4), kind in FLOATING)


def _plain(value: Any) -> Any:
    """Return a number, a text or a list; of a tensor nothing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float | str):
        return value
    return list(value) if hasattr(value, "__iter__") else None


class _Graph:
    """A graph, node by node.

    Attributes
    ----------
    types : dict
        ``TypeProto`` of every tensor as far as it is known, declared or inferred.
    values : dict
        Small values of constants, and of tensors that depend on shapes alone.
    live, of_shapes : set of str
        Tensors that depend on data, and those that depend on the shapes of these.
    weighty : dict
        Elements of the weights that a constant tensor is made of.
    quantized, of_bytes : set of str
        Tensors of operators on quantized numbers, and those that unknown operators read.
    """

    def __init__(self, onnx: Any, model: Any, path: str) -> None:
        self.onnx, self.graph, self.path = onnx, model.graph, path
        self.sets = list(model.opset_import)
        self.versions = {one.domain: one.version for one in self.sets}
        graph = model.graph
        self.types = {one.name: one.type for one in (*graph.value_info, *graph.output, *graph.input)}
        self.values: dict[str, Any] = {}
        self.spent = 0
        self.live: set[str] = set()
        self.of_shapes: set[str] = set()
        self.weighty: dict[str, int] = {}
        self.quantized, self.of_bytes = quantized_tensors(graph.node), tensors_of_bytes(graph.node)
        constants = {one.name for one in graph.initializer}
        self.data = tuple(one.name for one in graph.input if one.name not in constants)
        self.parameters: dict[str, str] = {}
        self.measured = {
            node.input[place]
            for node in graph.node
            for place in STATISTICS.get(node.op_type, ())
            if place < len(node.input)
        }

    def program(self) -> TensorProgram:
        """Return all of it."""
        made, nodes = {""}, []
        for tensor in self.graph.initializer:
            self._constant(tensor.name, tensor.data_type, tensor.dims)
            check_bytes(f"{self.path}: {tensor.name}", tensor, ELEMENT_BYTES.get(tensor.data_type, 4))
            if self._is_small(tensor):
                with suppress(Exception):  # weights may be left out of a file
                    self.values[tensor.name] = self.onnx.numpy_helper.to_array(tensor)
            made.add(tensor.name)
        for sparse in self.graph.sparse_initializer:
            self._constant(sparse.values.name, sparse.values.data_type, sparse.dims)
            made.add(sparse.values.name)
        data = tuple(name for name in self.data if name not in made)
        self.live.update(data)
        made.update(data)
        for node in self.graph.node:
            reads, own = [*node.input, *captured_tensors(node)], set(node.output) - {""}
            if wrong := sorted({*(set(reads) - made), *(made & own)}):
                what = "is made twice" if wrong[0] in made else "is read before a call makes it"
                raise InvalidInput(
                    f"{self.path}: {node.op_type} {node.name}: {wrong[0]} {what}; export it again"
                )
            made |= own
            self._infer(node, reads)
            inner = list(nested_constants(node, node.name or node.op_type))
            for constant in inner:
                self._constant(*constant)
            if self._take(node, reads):
                nodes.append(self._node(node, (*reads, *(name for name, *_ in inner))))
            for name in own:
                if (tensor := self._tensor(name)) and tensor.size_bytes > MOST_MADE_BYTES:
                    raise InvalidInput(
                        f"{self.path}: {operator_of(node)}: makes {name} of {tensor.size_bytes:,} bytes a sample, "
                        f"at most {MOST_MADE_BYTES:,} are read; correct its sizes"
                    )
        tensors = {name: tensor for name in self.types if (tensor := self._tensor(name))}
        results = tuple(value.name for value in self.graph.output)
        parameters = {name: name for name in self.parameters if name in tensors}
        return TensorProgram("a model in ONNX", self.path, tensors, parameters, data, results, tuple(nodes))

    def _take(self, node: Any, reads: Sequence[str]) -> bool:
        """Note the origin of the outputs of a call; return whether it is one on data, or on weights."""
        outputs = [name for name in node.output if name]
        is_live = any(name in self.live for name in reads)
        if is_live and operator_of(node) not in _OF_A_SHAPE:
            self.live.update(outputs)
            if operator_of(node) not in roles.ROLES:
                self._weigh_operands(node)
            return True
        of_shapes = is_live or any(name in self.of_shapes for name in reads)
        if of_shapes:
            self.of_shapes.update(outputs)
        self._compute(node)
        made = [self._tensor(name) for name in outputs]
        if not any(tensor is None or tensor.is_floating for tensor in made):
            return False  # indices and masks, whatever they are computed of
        elements = sum(self.weighty.get(name, 0) for name in reads)
        # whole numbers that are more than the weights beside them hold the weights: a quantized matrix and its scales
        whole = [one.elements for name in reads if (one := self._tensor(name)) and not one.is_floating]
        is_view = roles.ROLES.get(operator_of(node)) == roles.VIEW
        if not of_shapes and (not elements or (not is_view and elements < max(whole, default=0))):
            for name in outputs:
                if tensor := self._tensor(name):
                    self._weigh(name, tensor)
            return False
        self.weighty.update(dict.fromkeys(outputs, elements))
        return elements > 0

    def _constant(self, name: str, kind: int, dims: Sequence[int]) -> None:
        self.types[name] = self.onnx.helper.make_tensor_type_proto(kind, list(dims))
        checked = _checked(f"{self.path}: {name}", dims, kind)
        self._weigh(name, self._tensor(name) or checked)

    def _weigh_operands(self, node: Any) -> None:
        """Note all constants that an unknown operator reads, of whatever type."""
        for name in node.input:
            if name in self.live or name in self.of_shapes or self.weighty.get(name):
                continue
            if (tensor := self._tensor(name)) and tensor.elements > 1:
                self.parameters[name] = name
                self.weighty[name] = tensor.elements

    def _weigh(self, name: str, tensor: Tensor) -> None:
        """Note a constant that is a weight: no single number, and not measured."""
        if tensor.is_floating and tensor.elements > 1 and name not in self.measured:
            self.parameters[name] = name
            self.weighty[name] = tensor.elements

    def _tensor(self, name: str) -> Tensor | None:
        """Return a tensor whose shape is known."""
        kind = self.types[name].tensor_type if name in self.types else None
        if kind is None or not kind.HasField("shape"):
            return None
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
        if min(sizes, default=0) < 0:
            return None
        tensor = _checked(f"{self.path}: {name}", sizes, kind.elem_type)
        by_use = kind.elem_type in QUANTIZED_BY_USE and name in self.quantized
        if name in self.data or not (by_use or kind.elem_type in QUANTIZED_KINDS):
            return replace(tensor, is_floating=tensor.is_floating or name in self.parameters)
        wide = tensor.element_bytes if name in self.of_bytes else ELEMENT_BYTES[1]
        return replace(tensor, element_bytes=wide, is_floating=True)

    def _infer(self, node: Any, reads: Sequence[str]) -> None:
        """Infer the types of a call's outputs; where it cannot be done, they are those that the file declares."""
        known = {name: self.types[name] for name in reads if name in self.types}
        given = {
            name: self.onnx.numpy_helper.from_array(self.values[name], name)
            for name in node.input
            if name in self.values and self.values[name].size <= _MOST_OF_SLOW
        }
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            schema = self.onnx.defs.get_schema(node.op_type, self.versions.get(domain, 1), domain)
            found = self.onnx.shape_inference.infer_node_outputs(
                schema, node, known, given, opset_imports=self.sets
            )
        except Exception:  # errors of several libraries: an unknown operator, or one that contradicts itself
            return
        for name, kind in found.items():
            declared = self.types.get(name)
            self.types[name] = kind
            if declared is not None and self._tensor(name) is None:
                self.types[name] = declared

    def _compute(self, node: Any) -> None:
        """Compute the outputs of a call whose inputs are known, if they are small."""
        operator = operator_of(node)
        if operator in _OF_A_SHAPE and (tensor := self._tensor(node.input[0])):
            ends = {one.name: one.i for one in node.attribute}
            sizes = tensor.shape[ends.get("start", 0) : ends.get("end", len(tensor.shape))]
            self.values[node.output[0]] = np.array(
                sizes if operator == "Shape" else tensor.elements, np.int64
            )
            return
        given = {name: self.values[name] for name in node.input if name in self.values}
        if operator == "ConstantOfShape" and any(
            size < 0 for size in given.get(node.input[0], np.zeros(0)).flat
        ):
            raise InvalidInput(
                f"{self.path}: ConstantOfShape: {node.output[0]} of sizes {given[node.input[0]].tolist()}: expected "
                "sizes >= 0; correct them"
            )
        role = roles.CONSTANT if operator == "Constant" else roles.ROLES.get(operator)
        if any(name and name not in given for name in node.input) or role not in _COMPUTED:
            return
        made = [self._tensor(name) for name in node.output if name]
        read = sum(one.size for one in given.values())
        elements = read + sum(one.elements if one else read * 8 for one in made)
        unknown = None in made and operator not in _BY_VALUE
        most = _MOST_OF_SLOW if operator in _SLOW else MOST_ELEMENTS
        if unknown or operator in _DRAWN or elements > most or self.spent + elements > _MOST_TOGETHER:
            return
        if any(one.HasField("t") and one.t.external_data for one in node.attribute):
            return
        self.spent += elements
        try:
            graph = self.onnx.GraphProto(
                node=[node],
                input=[self.onnx.ValueInfoProto(name=name) for name in given],
                output=[self.onnx.ValueInfoProto(name=name) for name in node.output if name],
            )
            found = self.onnx.reference.ReferenceEvaluator(graph, self.versions).run(None, given)
        except Exception:  # whatever its operators raise: then it stays unknown
            return
        for name, value in zip(filter(None, node.output), found, strict=False):
            if isinstance(value, np.ndarray | np.generic):
                self.values[name] = np.asarray(value)
                self.types[name] = self.onnx.helper.make_tensor_type_proto(
                    self.onnx.helper.np_dtype_to_tensor_dtype(self.values[name].dtype),
                    self.values[name].shape,
                )

    def _is_small(self, tensor: Any) -> bool:
        """Return whether the value of an initializer is kept: indices, sizes, or a single number."""
        whole = tensor.data_type in (2, 3, 4, 5, 6, 7, 9, 12, 13)
        return prod(tensor.dims) <= (MOST_ELEMENTS if whole else _MOST_OF_SLOW) and not tensor.external_data

    def _node(self, node: Any, reads: Sequence[str]) -> ProgramNode:
        attributes = {
            one.name: _plain(self.onnx.helper.get_attribute_value(one))
            for one in node.attribute
            if one.type < 9
        }
        operator = operator_of(node)
        if operator in OPERANDS:
            reads = [reads[place] for place in OPERANDS[operator] if place < len(reads)]
        return ProgramNode(operator, node.name, tuple(reads), tuple(node.output), attributes)
