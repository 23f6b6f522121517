"""The noun SearchRequest: the model, the machines, the batch, and what of a configuration is not searched."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.memory.accelerator import MemoryColumns, memory
from topoopt.llm.recomputation import recomputation_bits
from topoopt.llm.search.choices import Choices, Limits, usual_choices
from topoopt.llm.search.enumerate import enumerate_configurations
from topoopt.llm.system import System
from topoopt.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """What is searched.

    Attributes
    ----------
    global_batch, sequence : int
        Sequences of an iteration, and tokens of one.
    fixed : mapping
        Fields of :class:`~topoopt.llm.Configuration` that are not searched, such as ``tp`` or ``recompute``.
    limits : Limits
    attention, framework : str
        For memory, see :func:`~topoopt.llm.memory`.
    """

    model: TransformerModel
    accelerators: int
    system: System
    global_batch: int
    sequence: int
    fixed: Mapping[str, int | str | bool]
    limits: Limits = field(default_factory=Limits)
    precision: str = "bf16"
    attention: str = "fused"
    framework: str = "megatron"

    def choices(self, accelerators: int) -> Choices:
        """Return what may be chosen from on a number of accelerators."""
        usual = usual_choices(
            self.model, accelerators, self.system.accelerators_per_server, self.sequence, self.limits
        )
        fixed = {**self.fixed}
        if "recompute" in fixed:
            fixed["recompute"] = recomputation_bits(str(fixed["recompute"]))
        return usual.pinned(**{name: int(value) for name, value in fixed.items()})

    def enumerated(self, scale: int = 1) -> ConfigurationTable:
        """Return the valid configurations on ``scale`` times the accelerators with as much more of a batch."""
        accelerators = self.accelerators * scale
        return enumerate_configurations(
            self.model,
            accelerators,
            self.global_batch * scale,
            self.sequence,
            self.choices(accelerators),
            self.precision,
        )

    def memory(self, table: ConfigurationTable) -> MemoryColumns:
        """Return the memory of configurations."""
        return memory(self.model, table, self.system.accelerator, self.attention, self.framework)
