"""What a run has in common with others, from the widest to the narrowest: levels, each with a name of the run's own."""

from dataclasses import dataclass

from topoopt.catalog import Accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.workloads.transformer import TransformerModel

ONE = Parallelism()


@dataclass(frozen=True, slots=True)
class ServedStack:
    """What runs on what: all that constants depend on."""

    model: TransformerModel
    accelerator: Accelerator
    settings: EngineSettings
    engine: str
    version: str = ""
    drafted: str = "no"
    split: Parallelism = ONE


def level_names(stack: ServedStack) -> dict[str, str]:
    """Return the name of a stack at each level."""
    engine, part = engine_family(stack.engine), stack.accelerator
    kind, weights = model_kind(stack.model), stack.settings.weight_precision
    return {
        "engine": engine,
        "accelerator": part.name,
        "format": f"{weights} on {part.architecture}",
        "kind": kind,
        "engine+accelerator": f"{engine} on {part.name}",
        "engine+kind": f"{engine}, {kind}",
        "model": stack.model.name,
        "engine+split": f"{engine}, {split_kind(stack.split)}",
        "release": f"{engine} {stack.version}, drafted: {stack.drafted}, {kind}",
        "stack": f"{engine}, {stack.model.name} in {weights} on {part.name}",
    }


def engine_family(engine: str) -> str:
    """Return the name of an engine without capitals."""
    return engine.strip().lower()


def model_kind(model: TransformerModel) -> str:
    """Return what kind of model it is: latent attention, recurrent layers, experts, or none of these."""
    if model.latent is not None:
        return "latent"
    if model.recurrence is not None:
        return "recurrent"
    return "experts" if model.experts else "dense"


def split_kind(split: Parallelism) -> str:
    """Return how the layers of a replica are split: one of few words."""
    if split.attention_data > 1:
        return "copies of attention"
    if split.expert > 1:
        return "spread experts"
    return "tensor parallel" if split.tensor > 1 else "whole"
