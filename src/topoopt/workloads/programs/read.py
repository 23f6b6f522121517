"""A model's program from its file, as a graph of operators: of ``torch.export``, or in ONNX.

From a tensor program to an operator graph, by these rules.

- Another shape or a part of the same numbers is no operator. What is computed of weights alone is not either: its
  readers have these weights. What is computed of indices and masks alone comes from the data loader.
- A weight belongs to the operator that reads it first; gradients of one that several read are AllReduced once.
- Rows of a weight are a table. One row a sample, or a sum of rows, is an embedding, which is placed on servers; a row
  for each of several positions is a lookup, replicated as any weight.
- A pointwise call joins the operator whose output it reads, if that output has no other reader and no other input;
  softmax, normalizations and reductions do where that one is split by samples only.
- Bytes of weights and activations are those of the file's types. Memory traffic counts four bytes a number, which a
  roofline scales by its precision.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import LARGEST, MOST, whole_or_digits
from topoopt.schema.files import decoding, is_file
from topoopt.workloads.operator_graph import Operator, OperatorGraph, Weight
from topoopt.workloads.operator_timer import TWO_GRADIENTS
from topoopt.workloads.programs import tensor_program as roles
from topoopt.workloads.programs.onnx_model import SUFFIX, read_onnx
from topoopt.workloads.programs.program_files import read_exported
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, flops_of
from topoopt.workloads.zoo.layers import FLOAT_BYTES, INDEX_BYTES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value:
    """Origin of a tensor.

    Attributes
    ----------
    producers : tuple of int
        Operators of its origin.
    weights : tuple of str
        Parameters that it is, or is made of.
    is_live : bool
        Whether it depends on data.
    is_number : bool
        Whether gradients go through it; false for indices and masks, and for values made of these alone.
    """

    producers: tuple[int, ...] = ()
    weights: tuple[str, ...] = ()
    is_live: bool = False
    is_number: bool = True


MOST_ORIGINS = 2_000_000
"""Origins of all tensors together; a tensor of a large language model has a few."""
NOTHING = Value()
"""A constant, or an omitted argument."""


class Flow:
    """The values of the tensors so far."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        self.met = 0
        self._values = {name: Value(weights=(name,)) for name in program.parameters}
        for name in program.data:
            self._values[name] = Value(is_live=True, is_number=program.tensors[name].is_floating)

    def value(self, name: str) -> Value:
        """Return the origin of a tensor."""
        return self._values.get(name, NOTHING)

    def producers(self, node: ProgramNode) -> tuple[int, ...]:
        """Return the operators that a call reads, each once."""
        return self._each(node, [self.value(name).producers for name in node.inputs])

    def weights(self, node: ProgramNode) -> tuple[str, ...]:
        """Return the parameters that a call reads, each once."""
        return self._each(node, [self.value(name).weights for name in node.inputs])

    def _each(self, node: ProgramNode, origins: Sequence[tuple[T, ...]]) -> tuple[T, ...]:
        """Return all origins, each once; refuse a file in which every call has more of them than the one before."""
        self.met += sum(map(len, origins))
        if self.met > MOST_ORIGINS:
            raise InvalidInput(
                f"{self.program.place}: {node.operator} {node.label}: the tensors up to here are made of weights and "
                f"operators in more than {MOST_ORIGINS:,} ways; write the model down as a list of operators"
            )
        return tuple(dict.fromkeys(one for these in origins for one in these))

    def numbers(self, node: ProgramNode) -> tuple[str, ...]:
        """Return the inputs of a call that depend on data and have gradients."""
        return tuple(name for name in node.inputs if self.value(name).is_live and self.value(name).is_number)

    def passed(self, node: ProgramNode, role: str) -> Value | None:
        """Return the origin of a call's outputs if it is no operator; None if it is one."""
        live = any(self.value(name).is_live for name in node.inputs)
        if role == roles.CONSTANT:
            return NOTHING
        if not live:
            return Value(weights=self.weights(node))
        known = (self.program.tensors.get(name) for name in node.outputs)
        is_strange = node.operator not in roles.ROLES and bool(self.weights(node))
        if not is_strange and not any(tensor is None or tensor.is_floating for tensor in known):
            return Value(is_live=True, is_number=False)
        if not self.weights(node) and not self.numbers(node):
            return Value(is_live=True, is_number=False)
        if role == roles.VIEW:
            return Value(self.producers(node), self.weights(node), is_live=True)
        return None

    def set(self, node: ProgramNode, value: Value) -> None:
        """Set the origin of a call's outputs; indices have none."""
        for name in node.outputs:
            tensor = self.program.tensors.get(name)
            is_index = tensor is not None and not tensor.is_floating
            self._values[name] = replace(value, producers=(), is_number=False) if is_index else value


UNKNOWN_AS_BYTES = "bytes"
_BATCH = frozenset({"batch"})
_DENSE_SPLITS = frozenset({"batch", "out", "in"})
_TABLE_SPLITS = frozenset({"rows", "columns"})
_JOINING = (roles.POINTWISE, roles.ROWWISE, roles.REDUCTION)
_KIND_OF_ROLE = {
    roles.DENSE: "matmul",
    roles.EINSUM: "matmul",
    roles.CONV: "conv2d",
    roles.CONV_TRANSPOSED: "conv2d",
    roles.ROWWISE: "norm",
    roles.TABLE: "lookup",
    roles.BAG: "embedding",
    roles.RECURRENT: "matmul",
}
"""Kind of an operator with an uninformative name; that of its role where it is not listed here."""


class _Maker:
    def __init__(self, program: TensorProgram, samples: int) -> None:
        self.program = program
        self.samples = samples
        self.flow = Flow(program)
        self.readers = reader_counts(program)
        self.operators: list[Operator] = []
        self.owned: set[str] = set()
        self.names: Counter[str] = Counter()
        self.strange: Counter[str] = Counter()
        self.read_by: list[int] = []
        self.written_bytes: list[float] = []

    def take(self, node: ProgramNode) -> None:
        """Process the next call."""
        role = roles.ROLES.get(node.operator, roles.POINTWISE)
        value = self.flow.passed(node, role)
        if value is None:
            value = Value((self._operator(node, role),), is_live=True)
        self.flow.set(node, value)

    def _operator(self, node: ProgramNode, role: str) -> int:
        """Return the number of the operator that the call becomes, or joins."""
        known = node.operator in roles.ROLES
        if not known:
            self.strange[node.operator] += 1
        inputs = [name for name in node.inputs if name and (known or name in self.program.tensors)]
        values = [self.flow.value(name) for name in inputs]
        fresh = [name for name in self.flow.weights(node) if name not in self.owned]
        self.owned.update(fresh)
        read = [self._tensor(name, node) for name in inputs]
        used = [name for name in node.outputs if self.readers[name]] or list(node.outputs[:1])
        made = [self._tensor(name, node) for name in used if name in self.program.tensors]
        made = made or [self._tensor(node.outputs[0], node) if known else Tensor((self.samples,))]
        kind, splits = self._kind(node, role, made[0], fresh)
        written = sum(tensor.elements for tensor in made if tensor.is_floating) * FLOAT_BYTES / self.samples
        # what is read without the weights; of a table a row for each index, and the indices
        pairs = list(zip(read, values, strict=True))
        if kind in ("embedding", "lookup"):
            rows = max((tensor.elements for tensor, _ in pairs if not tensor.is_floating), default=0)
            read_bytes = float(rows * (read[0].shape[-1] * FLOAT_BYTES + INDEX_BYTES))
        else:
            read_bytes = float(
                sum(tensor.elements for tensor, value in pairs if value.is_live and tensor.is_floating)
                * FLOAT_BYTES
            )
        op = Operator(
            "",
            kind,
            () if kind == "embedding" else self.flow.producers(node),
            tuple(
                Weight(self.program.parameters[name], self.program.tensors[name].size_bytes) for name in fresh
            ),
            ceil(sum(tensor.size_bytes for tensor in made if tensor.is_floating) / self.samples),
            flops_of(role, node, read, made) / self.samples if known else 0.0,
            read_bytes / self.samples + written,
            splits,
        )
        place = self._host(node, role)
        if place is None:
            place = len(self.operators)
            self.operators.append(replace(op, name=self._name(node)))
            self.read_by.append(0)
            self.written_bytes.append(0.0)
        else:
            self.operators[place] = _joined(self.operators[place], op, self.written_bytes[place])
        self.read_by[place] = sum(self.readers[name] for name in node.outputs)
        self.written_bytes[place] = written
        return place

    def _kind(
        self, node: ProgramNode, role: str, made: Tensor, fresh: Sequence[str]
    ) -> tuple[str, frozenset[str]]:
        """Return the kind of an operator and how it may be split."""
        weights = self.flow.weights(node)
        if role in (roles.TABLE, roles.BAG):
            pooled = role == roles.BAG or made.elements == self.samples * made.shape[-1]
            if weights and fresh and pooled:
                return "embedding", _TABLE_SPLITS
            return ("lookup" if weights else "gather"), _BATCH
        if role == roles.DENSE and any(len(self.program.tensors[name].shape) == 2 for name in fresh):
            return "dense", _DENSE_SPLITS
        if node.operator not in roles.ROLES:
            return node.operator.split("::")[-1].split(".")[-1].lower(), _BATCH
        kind = roles.KINDS.get(node.operator, _KIND_OF_ROLE.get(role, role))
        alone = kind in TWO_GRADIENTS and role == roles.POINTWISE and len(self.flow.numbers(node)) < 2
        return (role if alone else kind), _BATCH

    def _host(self, node: ProgramNode, role: str) -> int | None:
        """Return the operator that a call joins; None where it becomes a separate one."""
        producers = self.flow.producers(node)
        if role not in _JOINING or len(producers) != 1 or len(self.flow.numbers(node)) != 1:
            return None
        host = self.operators[producers[0]]
        if self.read_by[producers[0]] != 1 or host.is_embedding or node.operator not in roles.ROLES:
            return None
        return producers[0] if host.splits == _BATCH or role == roles.POINTWISE else None

    def _tensor(self, name: str, node: ProgramNode) -> Tensor:
        if name not in self.program.tensors:
            raise InvalidInput(
                f"{self.program.place}: {node.operator} {node.label}: the shape of {name} is not known"
            )
        return self.program.tensors[name]

    def _name(self, node: ProgramNode) -> str:
        """Return a name that no other operator has: the module, and the call where it has several."""
        short = node.operator.split(".")[-1].lower()
        longer = f"{node.label}/{short}"
        base = node.label if node.label and node.label not in self.names else longer
        self.names[base] += 1
        return base if self.names[base] == 1 else f"{base}_{self.names[base]}"


SAMPLES, UNKNOWN = "samples", "unknown"


def read_program(path: str, settings: Mapping[str, Any]) -> tuple[OperatorGraph, str]:
    """Return the operators of a ``.pt2`` or ONNX file, and a description of the file.

    Parameters
    ----------
    settings : mapping
        ``samples``: batch of the file's shapes, where its inputs do not give it. ``unknown``: ``bytes`` to count
        unknown operators by their reads and writes. For ONNX also the sizes of its named dimensions.

    Raises
    ------
    InvalidInput
        If the file cannot be read, a setting is none of these, or operators are not known.
    """
    said = tuple(sorted((name, value) for name, value in settings.items()))
    changed_ns = Path(path).stat().st_mtime_ns if is_file(path) else 0
    return _kept(path, changed_ns, said)


@lru_cache(maxsize=2)
def _kept(path: str, changed_ns: int, said: tuple[tuple[str, Any], ...]) -> tuple[OperatorGraph, str]:
    """Return the cached result; a job and its options both read the same file."""
    settings = dict(said)
    unknown = str(settings.pop(UNKNOWN, ""))
    if unknown:
        check_known(f"{path}: set: {UNKNOWN}", unknown, (UNKNOWN_AS_BYTES,))
    samples = settings.pop(SAMPLES, None)
    if samples is not None:
        samples = whole_or_digits(f"{path}: set: {SAMPLES}", samples, 1, MOST["batch_per_accelerator"])
    if path.lower().endswith(SUFFIX):
        named = {
            name: whole_or_digits(f"{path}: set: {name}", size, 1, LARGEST) for name, size in settings.items()
        }
        program = read_onnx(path, named, samples)
    else:
        if settings:
            known = f"{SAMPLES} and {UNKNOWN}"
            raise InvalidInput(
                f"{path}: set: {next(iter(settings))}: of a program of torch.export known are {known}"
            )
        program = read_exported(path)
    count = samples_of(program) if samples is None else samples
    graph, words = operators_of_program(program, Path(path).stem, count, unknown)
    return graph, f"{program.what}: {words}"


def operators_of_program(
    program: TensorProgram, name: str, samples: int, unknown: str = ""
) -> tuple[OperatorGraph, str]:
    """Return the operator graph of a program, and remarks about it.

    Parameters
    ----------
    samples : int
        Samples that the shapes of the file are for.
    unknown : str
        ``bytes`` to count unknown operators by their reads and writes; they are refused otherwise.

    Raises
    ------
    InvalidInput
        If operators are unknown (all of them are named), or nothing remains to train.
    """
    maker = _Maker(program, samples)
    with decoding(program.place, "a call cannot be counted", "export the model again"):
        try:
            for node in program.nodes:
                maker.take(node)
        except InvalidInput:  # the unknown operators before it are the cause
            if not maker.strange or unknown == UNKNOWN_AS_BYTES:
                raise
    strange = maker.strange
    if strange and unknown != UNKNOWN_AS_BYTES:
        named = ", ".join(f"{operator} ({count})" for operator, count in sorted(strange.items()))
        raise InvalidInput(
            f"{program.place}: operators that are not known: {named}; count them by their bytes alone with "
            'set="unknown=bytes", or write them down as a list of operators'
        )
    if not maker.operators:
        raise InvalidInput(f"{program.place}: nothing is computed from its inputs; there is nothing to train")
    counted = f"{len(maker.operators)} operators of {len(program.nodes)} calls, shapes for "
    counted += "1 sample" if samples == 1 else f"{samples} samples"
    if strange:
        counted += f"; by their bytes alone: {', '.join(sorted(strange))}"
    return OperatorGraph(name, tuple(maker.operators), samples), counted


def samples_of(program: TensorProgram) -> int:
    """Return the samples that a program's shapes are for: the first dimension that all its inputs have.

    Raises
    ------
    InvalidInput
        If they differ, and the output does not determine it.
    """
    leading = {name: program.tensors[name].shape[0] for name in program.data if program.tensors[name].shape}
    sizes = set(leading.values())
    if len(sizes) == 1:
        return max(1, sizes.pop())
    results = [program.tensors[name].shape for name in program.results if name in program.tensors]
    common = sizes & {shape[0] for shape in results if shape}
    if len(common) == 1:
        return max(1, common.pop())
    said = ", ".join(f"{name} {size}" for name, size in list(leading.items())[:8]) or "no input has any"
    raise InvalidInput(
        f"{program.place}: samples: the first dimensions of its inputs do not say how many ({said}); give "
        'set="samples=8", or what they are for'
    )


def _joined(host: Operator, op: Operator, between_bytes: float) -> Operator:
    """Return an operator with one that follows at once: the numbers between are neither written nor read."""
    moved = host.memory_traffic_bytes_per_sample + op.memory_traffic_bytes_per_sample - 2.0 * between_bytes
    return replace(
        host,
        weights=(*host.weights, *op.weights),
        output_bytes_per_sample=op.output_bytes_per_sample,
        forward_flops_per_sample=host.forward_flops_per_sample + op.forward_flops_per_sample,
        memory_traffic_bytes_per_sample=max(0.0, moved),
    )


def reader_counts(program: TensorProgram) -> Mapping[str, int]:
    """Return the number of calls that read each tensor or a reshaped one; results of the model count once more."""
    counts = Counter(program.results)
    for node in reversed(program.nodes):
        passes = roles.ROLES.get(node.operator) == roles.VIEW
        read = sum(counts[name] for name in node.outputs) if passes else 1
        for name in set(node.inputs) - {""}:
            counts[name] += read
    return counts
