"""Models of the zoo as a list shows them: each variant with its size."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.schema.files import noun_from
from topoopt.workloads.zoo.model_entry import Variant
from topoopt.workloads.zoo.models import MODELS, load_model


@dataclass(frozen=True, slots=True)
class ListedVariant:
    """A variant, its hyper-parameters and how large they make it."""

    variant: str
    servers: int
    description: str
    batch_per_accelerator: int
    operators: int
    parameter_bytes: int
    dense_parameter_bytes: int
    hyperparameters: Mapping[str, Any]
    profiled: bool


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model and its variants."""

    model: str
    title: str
    description: str
    variants: tuple[ListedVariant, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the model as a mapping."""
        return {**asdict(self), "variants": [asdict(variant) for variant in self.variants]}


def listed_model(name: str) -> ListedModel:
    """Return a model of the zoo with its variants."""
    entry = MODELS[name]
    return ListedModel(name, entry.title, entry.description, tuple(map(_listed, entry.variants)))


def _listed(variant: Variant[Any]) -> ListedVariant:
    graph = load_model(variant.name)
    return noun_from(
        ListedVariant,
        graph,
        variant=variant.name,
        servers=variant.servers,
        description=variant.description,
        operators=len(graph.operators),
        hyperparameters=asdict(variant.parameters),
        profiled=bool(variant.profiles),
    )
