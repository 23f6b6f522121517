"""SearchRequest: the model, the hardware, the batch, and the fixed fields of a configuration.

All valid configurations for a number of accelerators and a batch, as columns.

The rules are those of :func:`~topoopt.transformers.check_configuration`, one column after the other, so that
combinations excluded by the first degrees are never multiplied by the later ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import PRECISIONS
from topoopt.transformers.configuration import CONTEXTS, FULL, SCHEDULES, Configuration, part_bit
from topoopt.transformers.configuration_check import check_configuration
from topoopt.transformers.configuration_table import (
    COLUMNS,
    RARE_COLUMNS,
    Bools,
    ConfigurationTable,
    column_value,
    table_of_columns,
)
from topoopt.transformers.degrees import can_be_chunked, tensor_degrees, ulysses_degrees
from topoopt.transformers.expert_loads import ExpertLoads
from topoopt.transformers.memory.accelerator import MemoryColumns, memory
from topoopt.transformers.memory.frameworks import shared_by
from topoopt.transformers.search.choices import Choices, Limits, usual_choices
from topoopt.transformers.system import System
from topoopt.workloads.transformer import TransformerModel

Columns = dict[str, Ints]
SCHEDULED: Mapping[str, Sequence[object]] = {"schedule": SCHEDULES, "overlap_experts": (False, True)}
"""Columns that a search varies on request, and their values."""
INTERLEAVED, ZERO_BUBBLE, DUALPIPE = range(len(SCHEDULES))
_ORDER = ("pp", "vpp", "dp", "micro_batch", "ep", "schedule", "overlap_experts")
READ: Mapping[str, tuple[str, ...]] = {
    "recompute_layers": ("pp", "vpp", "recompute"),
    "shard": ("tp", "cp", "dp", "ep", "etp", "zero"),
    "context": ("tp", "cp"),
    "dispatch": ("ep",),
    "schedule": _ORDER,
    "overlap_experts": _ORDER,
    "adapter_rank": (),
    "adapters": (),
    "document": (),
    "document_spread": (),
    "exchange": (),
    "graphs": (),
    "weights": (),
    "gradients": (),
    "moments": (),
    "activation_inputs": (),
    "offload_optimizer": (),
    "offload_activations": (),
}
"""Other columns that :func:`~topoopt.transformers.check_configuration` reads, by each column that no search varies."""


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """Parameters of a search.

    Attributes
    ----------
    global_batch, sequence : int
        Sequences of an iteration, and tokens of one.
    fixed : mapping
        Fields of :class:`~topoopt.transformers.Configuration` that are not searched, such as ``tp`` or ``recompute``;
        those that no search varies, such as ``context``, have their defaults if missing.
    limits : Limits
    attention, framework : str
        Attention and framework, for memory; see :func:`~topoopt.transformers.memory`.
    loads : ExpertLoads or None
        Loads of the experts; None for even ones.
    """

    model: TransformerModel
    accelerators: int
    system: System
    global_batch: int
    sequence: int
    fixed: Mapping[str, int | float | str | bool]
    limits: Limits = field(default_factory=Limits)
    precision: str = "bf16"
    attention: str = "fused"
    framework: str = "megatron"
    loads: ExpertLoads | None = None

    def __post_init__(self) -> None:
        rare: Any = {name: value for name, value in self.fixed.items() if name in RARE_COLUMNS}
        Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=1, **rare)  # checks the words

    def choices(self, accelerators: int) -> Choices:
        """Return the search space for a number of accelerators."""
        usual = usual_choices(
            self.model, accelerators, self.system.accelerators_per_server, self.sequence, self.limits
        )
        return usual.pinned(**{name: column_value(name, value) for name, value in self.fixed.items()})

    def enumerated(self, scale: int = 1) -> ConfigurationTable:
        """Return the valid configurations on ``scale`` times the accelerators with as much more of a batch.

        ZeRO is as the framework has it: at most 1 in pipelines that gather and scatter once an iteration.
        """
        accelerators = self.accelerators * scale
        valid = enumerate_configurations(
            self.model,
            accelerators,
            self.global_batch * scale,
            self.sequence,
            self.choices(accelerators),
            self.precision,
        )
        return shared_by(valid, self.framework)

    def memory(self, table: ConfigurationTable) -> MemoryColumns:
        """Return the memory of configurations."""
        return memory(self.model, table, self.system.accelerator, self.attention, self.framework)


def enumerate_configurations(
    model: TransformerModel,
    accelerators: int,
    global_batch: int,
    sequence: int,
    choices: Choices,
    precision: str = "bf16",
) -> ConfigurationTable:
    """Return every valid configuration that the choices allow; none if there is none.

    The table is ordered by tp, pp, cp, ep, etp, vpp, micro-batch, recomputation, ZeRO and sequence parallelism.
    """
    rules: Mapping[str, Callable[[Columns], Bools]] = {
        "tp": lambda by: np.isin(by["tp"], tensor_degrees(model)),
        "pp": lambda by: accelerators % (by["tp"] * by["pp"]) == 0,
        "cp": lambda by: _context_is_valid(model, by, accelerators, sequence, choices),
        "ep": lambda by: (model.experts.count if model.experts else 1) % by["ep"] == 0,
        "etp": lambda by: _expert_group_is_valid(model, by, accelerators),
        "vpp": lambda by: _stages_are_valid(model, by, choices.uneven_stages),
        "micro_batch": lambda by: _batch_is_valid(by, accelerators, global_batch),
        "recompute": lambda by: _parts_are_there(model, by["recompute"]),
        "zero": lambda by: choices.zero_in_pipelines | (by["pp"] == 1) | (by["zero"] < 2),
        "sequence_parallel": lambda by: (
            (by["sequence_parallel"] == 0) | ((by["tp"] > 1) & (sequence % (by["tp"] * by["cp"]) == 0))
        ),
    }
    values = {name: getattr(choices, name, ()) for name in rules}
    if choices.any_schedule:
        rules = {**rules, **schedule_rules(accelerators, global_batch)}
        values |= {name: _either(choices, name, len(words)) for name, words in SCHEDULED.items()}
    columns: Columns = {}
    if model.positions and sequence > model.positions:
        rules = {**rules, "tp": lambda by: np.zeros(len(by["tp"]), bool)}
    for name, is_valid in rules.items():
        columns = _crossed(columns, name, values[name])
        kept = is_valid(columns)
        columns = {key: column[kept] for key, column in columns.items()}
    size = len(columns["tp"])
    table = table_of_columns(
        **columns,
        **{name: np.array(value) for name, value in choices.others.items() if name not in columns},
        dp=_replicas(columns, accelerators),
        global_batch=np.full(size, global_batch),
        sequence=np.full(size, sequence),
        precision=np.full(size, PRECISIONS.index(precision)),
    )
    return _checked(model, table, accelerators, choices) if choices.others else table


def _either(choices: Choices, name: str, count: int) -> tuple[int, ...]:
    """Return the one value of a column that is pinned, or all of them."""
    return (int(choices.others[name]),) if name in choices.others else tuple(range(count))


def _checked(
    model: TransformerModel, table: ConfigurationTable, accelerators: int, choices: Choices
) -> ConfigurationTable:
    """Return the rows that are valid with the options that no search varies, which the rules above ignore.

    Among rows that are equal in the columns that these checks read, one is checked.
    """

    def is_valid(row: int) -> bool:
        try:
            check_configuration(model, table.row(row), accelerators, choices.uneven_stages)
        except InvalidInput:
            return False
        return True

    read = dict.fromkeys(name for word in choices.others for name in READ.get(word, COLUMNS))
    first, kind = _kinds([getattr(table, name) for name in read], len(table))
    return table.take(np.array([is_valid(row) for row in first.tolist()], bool)[kind])


def _kinds(columns: list[Ints], rows: int) -> tuple[Ints, Ints]:
    """Return the first row of each kind of rows, which are alike in all columns, and the kind of every row."""
    kind = np.zeros(rows, np.int64)
    for column in columns:
        if np.ndim(column):
            values, place = np.unique(column, return_inverse=True)
            kind = np.unique(kind * len(values) + place, return_inverse=True)[1]
    _, first = np.unique(kind, return_index=True)
    return first, kind


def _crossed(columns: Columns, name: str, values: tuple[int, ...]) -> Columns:
    """Return the columns with every row repeated for each value of a new one."""
    size = len(next(iter(columns.values()))) if columns else 1
    repeated = {key: np.repeat(column, len(values)) for key, column in columns.items()}
    return {**repeated, name: np.tile(np.array(values, np.int64), size)}


def _replicas(by: Columns, accelerators: int) -> Ints:
    return np.asarray(accelerators // (by["tp"] * by["pp"] * by["cp"]), np.int64)


def _context_is_valid(
    model: TransformerModel, by: Columns, accelerators: int, sequence: int, choices: Choices
) -> Bools:
    inside = by["tp"] * by["pp"] * by["cp"]
    valid = (accelerators % inside == 0) & (sequence % by["cp"] == 0)
    if choices.dp:
        valid &= np.isin(accelerators // inside, choices.dp)
    shard = choices.others.get("shard", 0)
    if shard:
        valid &= (accelerators // inside * by["cp"]) % shard == 0
    if choices.others.get("context") == CONTEXTS.index("ulysses"):
        for tp in choices.tp:
            valid &= (by["tp"] != tp) | np.isin(by["cp"], ulysses_degrees(model, tp))
    return np.asarray(valid)


def _expert_group_is_valid(model: TransformerModel, by: Columns, accelerators: int) -> Bools:
    """Experts are split at most as far as the rest, and their groups are within a stage."""
    if model.experts is None:
        return np.asarray((by["etp"] == 1) | (by["etp"] == by["tp"]))
    ranks = accelerators // by["pp"]
    cut = (by["tp"] % by["etp"] == 0) & (model.experts.ffn % by["etp"] == 0)
    return np.asarray(cut & (ranks % (by["ep"] * by["etp"]) == 0))


def _stages_are_valid(model: TransformerModel, by: Columns, uneven: bool) -> Bools:
    whole = can_be_chunked(model.layers, by["pp"], by["vpp"], uneven)
    return np.asarray(whole & ((by["pp"] > 1) | (by["vpp"] == 1)))


def _parts_are_there(model: TransformerModel, bits: Ints) -> Bools:
    """Parts can be recomputed separately only if the model has them."""
    lacking = part_bit("experts") * (model.experts is None) | part_bit("latent") * (model.latent is None)
    return np.asarray((bits & FULL > 0) | (bits & lacking == 0))


def _batch_is_valid(by: Columns, accelerators: int, global_batch: int) -> Bools:
    """A batch divides into micro-batches of all replicas; interleaving needs multiples of the stages of them."""
    step = _replicas(by, accelerators) * by["micro_batch"]
    whole = global_batch % step == 0
    return np.asarray(whole & ((by["vpp"] == 1) | (global_batch // step % by["pp"] == 0)))


def schedule_rules(accelerators: int, global_batch: int) -> Mapping[str, Callable[[Columns], Bools]]:
    """Return which rows are valid by the rules of :func:`~topoopt.transformers.check_configuration`.

    DualPipe overlaps all-to-alls in any case, so that it is listed once.
    """

    def batches(by: Columns) -> Ints:
        replicas = accelerators // (by["tp"] * by["pp"] * by["cp"])
        return np.asarray(global_batch // (replicas * by["micro_batch"]), np.int64)

    def ordered(by: Columns) -> Bools:
        one_chunk = (by["pp"] > 1) & (by["vpp"] == 1)
        count = batches(by)
        paired = (by["pp"] % 2 == 0) & (count % 2 == 0) & (count >= 2 * by["pp"]) & (by["zero"] < 2)
        plain = by["schedule"] == INTERLEAVED
        return np.asarray(plain | (one_chunk & ((by["schedule"] == ZERO_BUBBLE) | paired)))

    def overlapping(by: Columns) -> Bools:
        beside = (by["pp"] == 1) | (by["vpp"] > 1)
        able = (by["schedule"] == INTERLEAVED) & (by["ep"] > 1) & beside & (batches(by) > 1)
        return np.asarray((by["overlap_experts"] == 0) | able)

    return {"schedule": ordered, "overlap_experts": overlapping}
