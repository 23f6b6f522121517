"""The table of models, and which published variant a plain name means."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.schema.files import noun_from
from topoopt.workloads.operator_graph import OperatorGraph
from topoopt.workloads.zoo.bert import BERT, ENCODER
from topoopt.workloads.zoo.candle import CANDLE
from topoopt.workloads.zoo.convolutional import RESNET50, VGG11, VGG16, VGG19, WIDE_RESNET101
from topoopt.workloads.zoo.model_entry import ModelEntry, Variant, with_overrides
from topoopt.workloads.zoo.recommenders import DLRM, NCF

SMALL_JOB_SERVERS = 32
"""Servers up to which a plain model name means the 16-server variant; above, the 128-server one."""
MODELS: Mapping[str, ModelEntry[Any]] = {
    "dlrm": DLRM,
    "candle": CANDLE,
    "bert": BERT,
    "ncf": NCF,
    "resnet50": RESNET50,
    "vgg16": VGG16,
    "vgg11": VGG11,
    "vgg19": VGG19,
    "wide-resnet101": WIDE_RESNET101,
    "encoder": ENCODER,
}
"""Models by name."""


def load_model(
    name: str, *, variant: str | None = None, servers: int | None = None, **overrides: object
) -> OperatorGraph:
    """Return the operator graph of a model; its ``name`` is the variant's.

    Parameters
    ----------
    name : str
        A model of :data:`MODELS` (``dlrm``) or one of its variants (``dlrm-16``).
    variant : str, optional
        A variant, as ``dlrm-16`` or ``16``.
    servers : int, optional
        Servers of the job; chooses among the variants where none is named, see :func:`resolve_variant`.
    **overrides
        Hyper-parameters to change, named as in the model's parameter class.

    Raises
    ------
    InvalidInput
        For an unknown name (the nearest ones are offered) or a value that the model refuses.
    """
    model, chosen = resolve_variant(name, variant=variant, servers=servers)
    entry = MODELS[model]
    graph: OperatorGraph = entry.build(chosen.name, with_overrides(model, chosen.parameters, overrides))
    return graph


def resolve_variant(
    name: str, *, variant: str | None = None, servers: int | None = None
) -> tuple[str, Variant[Any]]:
    """Return the model and the variant that a name means.

    A plain model name means its 16-server variant on up to :data:`SMALL_JOB_SERVERS` servers, and its 128-server
    variant above; where there is no such variant, its first.

    Examples
    --------
    >>> resolve_variant("dlrm", servers=16)[1].name, resolve_variant("dlrm")[1].name
    ('dlrm-16', 'dlrm-128')
    """
    by_name = {v.name: (model, v) for model, entry in MODELS.items() for v in entry.variants}
    if name in by_name:
        if variant is not None and name not in {variant, f"{by_name[name][0]}-{variant}"}:
            raise InvalidInput(f"model {name}: already names a variant; drop variant {variant}")
        return by_name[name]
    if name not in MODELS:
        raise unknown_name("model", name, [*MODELS, *by_name])
    if variant is None:
        small = servers is not None and servers <= SMALL_JOB_SERVERS
        return by_name.get(f"{name}-16" if small else f"{name}-128", (name, MODELS[name].variants[0]))
    full = variant if variant.startswith(f"{name}-") else f"{name}-{variant}"
    if by_name.get(full, ("",))[0] != name:
        raise unknown_name(f"variant of {name}", variant, [v.name for v in MODELS[name].variants])
    return by_name[full]


@cache
def published_graph(variant: str) -> OperatorGraph:
    """Return the operator graph of a variant with nothing changed."""
    return load_model(variant)


@cache
def profiles_of(variant: str) -> tuple[str, ...]:
    """Return the variants whose measured times apply to a graph of this name; none for a foreign graph."""
    named = {v.name: v.profiles for entry in MODELS.values() for v in entry.variants}
    return named.get(variant, ())


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
