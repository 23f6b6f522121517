"""Operators from a YAML or CSV file, for models that are not in the zoo.

Both hold one entry an operator, in an order in which inputs stand before the operators that read them. YAML has
the batch beside the list; a CSV has the same keys as columns, with ``;`` between several inputs or splits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from topoopt.base.errors import InvalidInput, check_known
from topoopt.schema.files import Amount, Strict, headed_rows, read_text, read_yaml, validated
from topoopt.workloads.operator_graph import SPLITS, Operator, OperatorGraph, Weight
from topoopt.workloads.zoo.layers import FLOAT_BYTES

_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Size = Annotated[int, Field(ge=0, le=10**18)]
_Count = Annotated[int, Field(ge=1, le=10**12)]
_LIST_COLUMNS = ("inputs", "split")


class OperatorModel(Strict):
    """One operator as a person writes it; see ``examples/operators.yaml`` for every key."""

    name: _Name
    kind: _Name = "operator"
    inputs: list[_Name]
    parameters: _Size | None = None
    parameter_bytes: _Size | None = None
    activation_bytes: _Size
    forward_ms: Amount | None = None
    backward_ms: Amount | None = None
    timed_samples: _Count | None = None
    forward_flops: Amount | None = None
    memory_traffic_bytes: Amount | None = None
    split: list[_Name] | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> "OperatorModel":
        if self.parameters is not None and self.parameter_bytes is not None:
            raise ValueError("give parameters (a number of float32) or parameter_bytes, not both")
        if (self.forward_ms is None) == (self.forward_flops is None):
            raise ValueError("give either forward_ms or forward_flops (of one sample)")
        if self.backward_ms is not None and self.forward_ms is None:
            raise ValueError("backward_ms needs forward_ms beside it")
        return self


class OperatorsModel(Strict):
    """The whole YAML file."""

    name: _Name | None = None
    batch_per_accelerator: _Count | None = None
    timed_samples: _Count | None = None
    operators: Annotated[list[OperatorModel], Field(min_length=1)]


def read_operators(path: str | Path, *, batch_per_accelerator: int | None = None) -> OperatorGraph:
    """Return the operator graph of a ``.yaml``, ``.yml`` or ``.csv`` file.

    Parameters
    ----------
    path : str or Path
        The file; a CSV by its suffix, YAML otherwise.
    batch_per_accelerator : int, optional
        Samples per accelerator; goes before the file's, needed where the file has none.

    Raises
    ------
    InvalidInput
        With the file, the operator and the key: ``ops.yaml: operators[3].forward_ms: …``.
    """
    place = str(path)
    raw = _csv_mapping(place) if Path(path).suffix.lower() == ".csv" else read_yaml(path)
    model = validated(OperatorsModel, raw, place)
    batch = batch_per_accelerator if batch_per_accelerator is not None else model.batch_per_accelerator
    if batch is None:
        raise InvalidInput(
            f"{place}: batch_per_accelerator is not in the file; write it there or give "
            "batch_per_accelerator=N"
        )
    operators: list[Operator] = []
    index: dict[str, int] = {}
    for number, row in enumerate(model.operators):
        here = f"{place}: operators[{number}]"
        if row.name in index:
            raise InvalidInput(f'{here}.name: "{row.name}" is the name of operators[{index[row.name]}] too')
        inputs = tuple(_input(name, index, here) for name in row.inputs)
        splits = row.split if row.split is not None else ["rows"] if row.kind == "embedding" else ["batch"]
        for split in splits:
            check_known(f"{here}.split", split, SPLITS)
        samples = row.timed_samples or model.timed_samples
        if row.forward_ms is not None and samples is None:
            raise InvalidInput(
                f"{here}.forward_ms: needs timed_samples: with how many samples it was measured"
            )
        size_bytes = (
            row.parameter_bytes if row.parameter_bytes is not None else (row.parameters or 0) * FLOAT_BYTES
        )
        traffic = row.memory_traffic_bytes
        operator = Operator(
            name=row.name,
            kind=row.kind,
            inputs=inputs,
            weights=(Weight(f"{row.name}.parameters", size_bytes),) if size_bytes else (),
            output_bytes_per_sample=row.activation_bytes,
            forward_flops_per_sample=row.forward_flops or 0.0,
            memory_traffic_bytes_per_sample=2.0 * row.activation_bytes if traffic is None else traffic,
            splits=frozenset(splits),
            forward_time_s=None if row.forward_ms is None else row.forward_ms * 1e-3,
            backward_time_s=None if row.backward_ms is None else row.backward_ms * 1e-3,
            timed_samples=samples if row.forward_ms is not None and samples else 0,
        )
        operators.append(operator)
        index[row.name] = number
    return OperatorGraph(model.name or Path(path).stem, tuple(operators), batch)


def _input(name: str, index: Mapping[str, int], here: str) -> int:
    if name not in index:
        raise InvalidInput(f'{here}.inputs: "{name}" is not the name of an operator that stands before it')
    return index[name]


def _csv_mapping(place: str) -> dict[str, object]:
    known, expected = sorted(OperatorModel.model_fields), "a header row and a row for each operator"
    _, rows = headed_rows(read_text(place), place, known, expected, "operators[{index}]")
    return {"operators": [_csv_operator(cells) for _, _, cells in rows]}


def _csv_operator(cells: Mapping[str, str]) -> dict[str, object]:
    operator: dict[str, object] = {}
    for name, cell in cells.items():
        if name == "inputs" or (name in _LIST_COLUMNS and cell):
            operator[name] = [part.strip() for part in cell.split(";") if part.strip()]
        elif cell:
            operator[name] = cell
    return operator
