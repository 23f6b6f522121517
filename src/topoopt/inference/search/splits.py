"""All ways of splitting one replica over so many accelerators, each with its step times and its room for caches."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.fabrics.prepared import table_without_network
from topoopt.inference.kv_cache import cache_capacity
from topoopt.inference.precision import cache_element_bytes, weight_format
from topoopt.inference.step_table import StepTable
from topoopt.workloads.transformer import TransformerModel

MOST_STAGES = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """What a model is served on.

    Attributes
    ----------
    accelerators_per_server : int
        Tensor parallelism stays inside of a server where it is searched.
    engine : str
        Whose step times are taken; the mean of all where empty.
    """

    model: TransformerModel
    accelerator: str
    accelerators: int
    accelerators_per_server: int
    settings: EngineSettings
    engine: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One way of splitting a replica.

    Attributes
    ----------
    table : StepTable
    cache_tokens : int
        Tokens that all caches of a replica have room for.
    """

    parallelism: Parallelism
    table: StepTable
    cache_tokens: int


def splits_of(machine: Machine, fixed: Mapping[str, int], most_tokens: int) -> list[Split]:
    """Return the splits that hold the model and the longest request.

    Parameters
    ----------
    fixed
        Degrees that are given, by field of :class:`~topoopt.inference.Parallelism`.

    Raises
    ------
    InvalidInput
        If a degree is given that the model does not have parts for.
    Infeasible
        If nothing fits, with the reason of the largest split.
    """
    weight_format(machine.settings.weight_precision)
    cache_element_bytes(machine.settings.kv_precision)
    found, reason = [], ""
    for one in _degrees(machine, fixed):
        try:
            room = cache_capacity(
                machine.model, find_accelerator(machine.accelerator), one, machine.settings, most_tokens
            )
        except InvalidInput as error:
            reason = str(error)
            continue
        if room.tokens < most_tokens:
            reason = (
                f"{machine.model.name}: caches of {room.tokens:,} tokens hold no request of {most_tokens:,}"
            )
            continue
        table = table_without_network(
            machine.model,
            machine.accelerator,
            one,
            machine.settings,
            machine.engine,
            machine.accelerators_per_server,
        )
        found.append(Split(one, table, room.tokens))
    if not found:
        raise Infeasible(
            f"accelerators {machine.accelerators}: {reason}"
            if reason
            else f"accelerators {machine.accelerators}: no split of {machine.model.name} has the degrees that are given"
        )
    return found


def _degrees(machine: Machine, fixed: Mapping[str, int]) -> list[Parallelism]:
    """Return the degrees to try; where one is given, only that one."""
    model, most = machine.model, machine.accelerators
    powers = [1 << power for power in range(most.bit_length())]

    def tried(name: str, usual: list[int]) -> list[int]:
        return [fixed[name]] if name in fixed else usual

    tensors = [one for one in powers if model.heads % one == 0 and one <= machine.accelerators_per_server]
    stages = [one for one in powers if one <= min(MOST_STAGES, model.layers)]
    found = []
    for tensor in tried("tensor", tensors):
        for pipeline in tried("pipeline", stages):
            whole = max(most // (tensor * pipeline), 1)
            copies = sorted({*(one for one in powers if one <= whole), whole}) if model.experts else [1]
            for data in tried("attention_data", copies):
                stage = tensor * data
                spread = sorted({1, stage}) if model.experts and stage <= model.experts.count else [1]
                for expert in tried("expert", spread):
                    if stage * pipeline <= most and stage % expert == 0:
                        found.append(Parallelism(tensor, pipeline, expert, data))
    return found
