"""The noun Subject: what is to be measured, every distinct operator with its sizes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.plugins.profiling.shapes import Shape
from topoopt.workloads import Operator, OperatorSignature, PartSize, signature_of


@dataclass(frozen=True, eq=False)
class SubjectOperator:
    """One operator shape and the sizes that a search may give its parts.

    Attributes
    ----------
    operator : Operator
        The first of the model that has the shape.
    count : int
        Operators of the model that have it.
    sizes : tuple of PartSize
        Ascending.
    """

    operator: Operator
    shape: Shape
    count: int
    sizes: tuple[PartSize, ...]

    @property
    def signature(self) -> OperatorSignature:
        """What its times are looked up by."""
        return signature_of(self.operator)


@shows_itself
@dataclass(frozen=True, eq=False)
class Subject:
    """A model to be measured; the fields are those of :class:`~topoopt.workloads.DeviceProfile`."""

    model: str
    source: str
    servers: int
    accelerators_per_server: int
    batch_per_accelerator: int
    operators: tuple[SubjectOperator, ...]
    hyperparameters: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def sizes(self) -> int:
        """How many sizes there are to measure."""
        return sum(len(op.sizes) for op in self.operators)

    def rows(self) -> list[dict[str, Any]]:
        """Return what would be measured of each operator."""
        return [
            {
                "operator": op.operator.name,
                "kind": op.operator.kind,
                "count": op.count,
                "sizes": len(op.sizes),
                "fewest_samples": min(size.samples for size in op.sizes),
                "most_samples": max(size.samples for size in op.sizes),
                "most_channel_parts": max(size.channel_degree for size in op.sizes),
            }
            for op in self.operators
        ]

    def to_frame(self) -> Frame:
        """Return the rows as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        return {
            "model": self.model,
            "sizes": self.sizes,
            "operators": self.rows(),
            "left_out": dict(self.left_out),
        }


def distinct_operators(
    rows: Iterable[tuple[Operator, Shape, Sequence[PartSize]]],
) -> tuple[SubjectOperator, ...]:
    """Return one entry for all operators of the same signature, in the order of the first of each."""
    operators: dict[OperatorSignature, SubjectOperator] = {}
    for op, shape, sizes in rows:
        signature = signature_of(op)
        before = operators.get(signature, SubjectOperator(op, shape, 0, ()))
        both = tuple(sorted({*before.sizes, *sizes}))
        operators[signature] = replace(before, count=before.count + 1, sizes=both)
    return tuple(operators.values())


def only_operators(subject: Subject, patterns: Sequence[str]) -> Subject:
    """Return the subject with some of its operators: by kind, by name, or by a pattern such as ``top_*``.

    Only the first operator of a shape has a name here.

    Raises
    ------
    InvalidInput
        If a pattern fits none.
    """
    for pattern in patterns:
        if not any(_fits(op, pattern) for op in subject.operators):
            known = {word for op in subject.operators for word in (op.operator.kind, op.operator.name)}
            if any(sign in pattern for sign in "*?["):
                raise InvalidInput(f'operators: "{pattern}" fits none of {", ".join(sorted(known))}')
            raise unknown_name("operators", pattern, known)
    chosen = [op for op in subject.operators if any(_fits(op, pattern) for pattern in patterns)]
    return replace(subject, operators=tuple(chosen), left_out={})


def _fits(op: SubjectOperator, pattern: str) -> bool:
    return any(fnmatchcase(word, pattern) for word in (op.operator.kind, op.operator.name))
