"""A FlexNet profile (``measure_*.json``): operator times of the user's own, in the authors' format."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import Amount, Name, Strict, read_json, validated
from topoopt.workloads.graph import OperatorGraph
from topoopt.workloads.profile_table import ProfileTable, profile_table
from topoopt.workloads.profile_timer import PROFILED_ACCELERATORS_PER_SERVER
from topoopt.workloads.zoo.dlrm import DlrmParameters
from topoopt.workloads.zoo.models import MODELS, load_model

_COUNT = Annotated[int, Field(ge=1, le=10**12)]


class MeasurementModel(Strict):
    """One measurement; ``pc_str`` is the number of dimensions, then the parts in each, the batch's last."""

    name: Name
    pc_str: str
    fw_time: Amount
    bw_time: Amount
    mem_req: Annotated[int, Field(ge=0)] = 0


class FlexNetProfileModel(Strict):
    """The whole file; ``ngpus`` counts servers, ``batch_size`` is the global one."""

    batch_size: _COUNT
    ngpus: _COUNT
    measurements: Annotated[list[MeasurementModel], Field(min_length=1)]


def read_flexnet_profile(path: str | Path) -> tuple[ProfileTable, OperatorGraph | None]:
    """Return the measured times, and the zoo's graph of the model where the operators' names tell it.

    The graph is a variant all of whose operators were measured, its batch that of the profile on servers of
    four accelerators; DLRM also with another number of tables. Without one, the table's ``model`` is empty
    and the caller has to say which graph was measured. Measurements of channel parts are left out: FlexNet
    measures none in the released search space.

    Raises
    ------
    InvalidInput
        If the file is cut short, or is not such a profile.
    """
    place = str(path)
    model = validated(FlexNetProfileModel, read_json(path), place)
    rows: list[tuple[str, int, float, float, int]] = []
    met: dict[tuple[str, int], int] = {}
    for number, m in enumerate(model.measurements):
        degrees = _degrees(m.pc_str, f"{place}: measurements[{number}].pc_str")
        if all(degree == 1 for degree in degrees[:-1]):
            first = met.setdefault((m.name, degrees[-1]), number)
            if first != number:
                raise InvalidInput(
                    f"{place}: measurements[{number}]: {m.name} in {degrees[-1]} parts is measurements[{first}], too"
                )
            rows.append((m.name, degrees[-1], m.fw_time, m.bw_time, m.mem_req))
    graph = _known_graph({row[0] for row in rows}, model.ngpus, model.batch_size)
    table = profile_table(graph.name if graph else "", model.ngpus, model.batch_size, rows)
    return table, graph


def _degrees(text: str, place: str) -> list[int]:
    numbers = [int(part) for part in text.split("-")] if re.fullmatch(r"\d{1,9}(-\d{1,9})+", text) else []
    if not numbers or numbers[0] != len(numbers) - 1 or 0 in numbers:
        raise InvalidInput(
            f'{place}: expected the number of dimensions and the parts of each, as 2-1-128, got "{text}"'
        )
    return numbers[1:]


def _known_graph(names: set[str], servers: int, global_batch: int) -> OperatorGraph | None:
    batch = max(1, round(global_batch / (servers * PROFILED_ACCELERATORS_PER_SERVER)))
    variants = [v for entry in MODELS.values() for v in entry.variants]
    variants.sort(key=lambda v: v.servers != servers)
    candidates = [load_model(v.name, batch_per_accelerator=batch) for v in variants]
    for v in variants:
        if isinstance(v.parameters, DlrmParameters):
            tables = _tables(names, v.parameters)
            candidates.append(load_model(v.name, batch_per_accelerator=batch, tables=tables))
    return next((g for g in candidates if {op.profile_key for op in g.operators} == names), None)


def _tables(names: set[str], p: DlrmParameters) -> int:
    """Return how many tables feed the widest dense layer; its input is all of them and the bottom's output."""
    widths = [int(name.split("_")[1]) for name in names if re.fullmatch(r"Dense_\d{1,12}_\d{1,12}", name)]
    return max(1, (max(widths, default=0) - (p.bottom_output or p.bottom_width)) // p.dim)
