"""Constants of models in ONNX: those in graphs of a call, quantized weights, and those that functions share.

One rule for quantized numbers: they stand for the float32 that they were trained in, so a weight of them counts four
bytes a number, whether it is of int8, int4 or float8, behind a DequantizeLinear or read by an operator on whole
numbers. Scales and zero points are measured. Operators that are not known count the bytes of the file instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.workloads.programs import tensor_program as roles

OPERANDS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("QuantizeLinear", "DynamicQuantizeLinear", "DequantizeLinear"), (0,)),
    **dict.fromkeys(("MatMulInteger", "ConvInteger"), (0, 1)),
    "QLinearMatMul": (0, 3),
    "QLinearConv": (0, 3, 8),
}
"""Inputs of an operator on quantized numbers without scales and zero points: those of its float counterpart."""
QUANTIZED_KINDS = (2, 3, 21, 22, 25, 26)
"""Types of whole numbers of at most 8 bits; constants of them are weights."""
QUANTIZED_BY_USE = (4, 5, 6, 17, 18, 19, 20, 23)
"""Types of numbers that are quantized ones where such an operator reads or makes them."""
_NARROW_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
_CASTS = ("Cast", "CastLike")
_PASSING = (roles.VIEW, roles.POINTWISE, roles.CONCAT, roles.TABLE, roles.POOL)
_TAG = "topoopt: of the function "


def quantized_tensors(nodes: Sequence[Any]) -> set[str]:
    """Return the tensors that operators on quantized numbers read and make, and their views."""
    found: set[str] = set()
    for node in nodes:
        places = OPERANDS.get(node.op_type, ())
        read = [node.input[place] for place in places if place < len(node.input)]
        passes = node.op_type not in _CASTS and roles.ROLES.get(node.op_type) in _PASSING
        if passes and not found.isdisjoint(node.input):
            read.extend(node.input if roles.KINDS.get(node.op_type) == "add" else ())
            found.update(node.output)
        found.update(node.output if places else (), read)
    return _with_origins(nodes, found)


def tensors_of_bytes(nodes: Sequence[Any]) -> set[str]:
    """Return the tensors that operators read which are not known, and their views."""
    read = (node.input for node in nodes if operator_of(node) not in roles.ROLES)
    return _with_origins(nodes, {name for names in read for name in names})


def _with_origins(nodes: Sequence[Any], found: set[str]) -> set[str]:
    """Return these tensors and those that they are a view of, or rows of."""
    for node in reversed(nodes):
        role = roles.ROLES.get(node.op_type)
        if node.op_type not in _CASTS and not found.isdisjoint(node.output):
            if role in (roles.VIEW, roles.TABLE):
                found.update(node.input[:1])
            elif role == roles.CONCAT:
                found.update(node.input)
    return found - {""}


def nested_calls(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield calls, and those in their graphs: branches and bodies of loops."""
    for node in nodes:
        yield node
        for inner in graphs_of(node):
            yield from nested_calls(inner.node)


def graphs_of(node: Any) -> Iterator[Any]:
    """Yield the graphs in a call: branches, or the body of a loop."""
    for one in node.attribute:
        yield from ([one.g] if one.HasField("g") else one.graphs)


def captured_tensors(node: Any) -> Iterator[str]:
    """Yield the tensors that the graphs in a call read from outside."""
    for graph in graphs_of(node):
        own = {"", *(one.name for one in (*graph.initializer, *graph.input))}
        for inner in graph.node:
            yield from (name for name in (*inner.input, *captured_tensors(inner)) if name not in own)
            own.update(inner.output)
        yield from (one.name for one in graph.output if one.name not in own)


def nested_constants(node: Any, within: str) -> Iterator[tuple[str, int, Sequence[int]]]:
    """Yield name, type and dimensions of the constants in the graphs of a call."""
    for graph in graphs_of(node):
        yield from ((f"{within}/{one.name}", one.data_type, one.dims) for one in graph.initializer)
        for inner in graph.node:
            held = (one.t for one in inner.attribute if inner.op_type == "Constant" and one.HasField("t"))
            yield from ((f"{within}/{inner.output[0]}", tensor.data_type, tensor.dims) for tensor in held)
            yield from nested_constants(inner, within)


def operator_of(node: Any) -> str:
    """Return the name of an operator; of those that are not ONNX's own with the domain."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def mark_constants(functions: Sequence[Any]) -> None:
    """Mark the constants of functions before these are written out; :func:`share_constants` finds them again."""
    for function in functions:
        for node in function.node:
            for one in node.attribute:
                if node.op_type == "Constant" and one.HasField("t"):
                    one.t.doc_string = f"{_TAG}{function.domain}::{function.name}: {node.output[0]}"


def share_constants(nodes: Sequence[Any], make_node: Any) -> None:
    """Replace each constant of a function after its first by the first: a function called twice has it once."""
    first: dict[str, str] = {}
    for node in nodes:
        marks = [one.t.doc_string for one in node.attribute if one.t.doc_string.startswith(_TAG)]
        if node.op_type == "Constant" and marks:
            name = first.setdefault(marks[0], node.output[0])
            if name != node.output[0]:
                node.CopyFrom(make_node("Identity", [name], list(node.output), name=node.name))


def check_bytes(place: str, tensor: Any, element_bytes: int) -> None:
    """Refuse a constant whose bytes are not those of its dimensions; it may have none, as weights may lie elsewhere."""
    elements, found = prod(tensor.dims), len(tensor.raw_data)
    expected = -(-elements * _NARROW_BITS.get(tensor.data_type, 8 * element_bytes) // 8)
    if found and not tensor.external_data and found != expected:
        raise InvalidInput(
            f"{place}: {found:,} bytes for dimensions {list(tensor.dims)}: expected {expected:,}; export it again"
        )
