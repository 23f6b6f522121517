"""What every tensor of a program is made of: which operators, which weights, and whether data at all."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from topoopt.workloads.programs import roles
from topoopt.workloads.programs.tensor_program import ProgramNode, TensorProgram


@dataclass(frozen=True, slots=True)
class Value:
    """What a tensor is made of.

    Attributes
    ----------
    producers : tuple of int
        Operators that it comes from.
    weights : tuple of str
        Parameters that it is, or is made of.
    is_live : bool
        Whether it depends on data.
    is_number : bool
        Whether gradients go through it; false of indices and masks, and of what is made of these alone.
    """

    producers: tuple[int, ...] = ()
    weights: tuple[str, ...] = ()
    is_live: bool = False
    is_number: bool = True


NOTHING = Value()
"""A constant, or an argument that is left out."""


class Flow:
    """The values of the tensors so far."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        self._values = {name: Value(weights=(name,)) for name in program.parameters}
        for name in program.data:
            self._values[name] = Value(is_live=True, is_number=program.tensors[name].is_floating)

    def value(self, name: str) -> Value:
        """Return what a tensor is made of."""
        return self._values.get(name, NOTHING)

    def producers(self, node: ProgramNode) -> tuple[int, ...]:
        """Return the operators that a call reads, each once."""
        return tuple(dict.fromkeys(one for name in node.inputs for one in self.value(name).producers))

    def weights(self, node: ProgramNode) -> tuple[str, ...]:
        """Return the parameters that a call reads, each once."""
        return tuple(dict.fromkeys(one for name in node.inputs for one in self.value(name).weights))

    def numbers(self, node: ProgramNode) -> tuple[str, ...]:
        """Return the inputs of a call that depend on data and have gradients."""
        return tuple(name for name in node.inputs if self.value(name).is_live and self.value(name).is_number)

    def passed(self, node: ProgramNode, role: str) -> Value | None:
        """Return what the outputs of a call are made of where it is no operator; None where it is one."""
        live = any(self.value(name).is_live for name in node.inputs)
        if role == roles.CONSTANT:
            return NOTHING
        if not live:
            return Value(weights=self.weights(node))
        known = (self.program.tensors.get(name) for name in node.outputs)
        if not any(tensor is None or tensor.is_floating for tensor in known):
            return Value(is_live=True, is_number=False)
        if not self.weights(node) and not self.numbers(node):
            return Value(is_live=True, is_number=False)
        if role == roles.VIEW:
            return Value(self.producers(node), self.weights(node), is_live=True)
        return None

    def set(self, node: ProgramNode, value: Value) -> None:
        """Say what the outputs of a call are made of; indices come from nobody."""
        for name in node.outputs:
            tensor = self.program.tensors.get(name)
            is_index = tensor is not None and not tensor.is_floating
            self._values[name] = replace(value, producers=(), is_number=False) if is_index else value


def reader_counts(program: TensorProgram) -> Mapping[str, int]:
    """Return how many calls read each tensor, or another shape of it; the model's results count as read once more."""
    counts = Counter(program.results)
    for node in reversed(program.nodes):
        passes = roles.ROLES.get(node.operator) == roles.VIEW
        read = sum(counts[name] for name in node.outputs) if passes else 1
        for name in set(node.inputs) - {""}:
            counts[name] += read
    return counts
