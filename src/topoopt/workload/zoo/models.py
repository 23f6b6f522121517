"""The table of models: what each is, its published variants, and which of them a plain name means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from topoopt.errors import InvalidInput, unknown_name
from topoopt.workload.graph import OperatorGraph
from topoopt.workload.zoo.bert import BertParameters, bert
from topoopt.workload.zoo.candle import CandleParameters, candle
from topoopt.workload.zoo.dlrm import DlrmParameters, dlrm
from topoopt.workload.zoo.hyperparameters import with_overrides
from topoopt.workload.zoo.ncf import NcfParameters, ncf
from topoopt.workload.zoo.resnet50 import Resnet50Parameters, resnet50
from topoopt.workload.zoo.vgg16 import Vgg16Parameters, vgg16

P = TypeVar("P")

SMALL_JOB_SERVERS = 32
"""A plain model name means the 16-server variant on up to so many servers, the 128-server one above."""


@dataclass(frozen=True, slots=True)
class Variant(Generic[P]):
    """One published set of hyper-parameters.

    Attributes
    ----------
    servers : int
        Servers of the job it was published for.
    profiles : tuple of str
        Variants whose measured operator times apply, the most fitting first. A time is taken only for an
        operator of exactly the measured shape.
    """

    name: str
    servers: int
    description: str
    parameters: P
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelEntry(Generic[P]):
    """One model of the zoo: ``build(name, parameters)`` makes its operator graph."""

    title: str
    description: str
    build: Callable[[str, P], OperatorGraph]
    variants: tuple[Variant[P], ...]


_DEDICATED = "the authors' dedicated job of 128 servers"
_SHARED = "the authors' job of 16 servers in a shared cluster"
_TESTBED = "the authors' testbed job of 12 servers with one accelerator each"

_DLRM_16 = DlrmParameters(
    batch_per_accelerator=256, tables=16, dim=256, bottom_width=1024, top_layers=15, top_width=2048
)
_DLRM_32 = DlrmParameters(
    batch_per_accelerator=256, tables=32, dim=256, bottom_width=1024, top_layers=15, top_width=2048
)
_DLRM_TESTBED = DlrmParameters(
    tables=12, rows=100_000, dim=32768, bottom_output=32768, top_layers=4, top_width=1024
)

MODELS: Mapping[str, ModelEntry[Any]] = {
    "dlrm": ModelEntry(
        "DLRM",
        "recommendation: placed embedding tables, dense perceptrons",
        dlrm,
        (
            Variant("dlrm-128", 128, _DEDICATED, DlrmParameters(), ("dlrm-128", "dlrm-alltoall")),
            Variant("dlrm-16", 16, _SHARED, _DLRM_16, ("dlrm-16", "dlrm-32")),
            Variant(
                "dlrm-32",
                32,
                "as dlrm-16, with a table for each of 32 servers",
                _DLRM_32,
                ("dlrm-32", "dlrm-16"),
            ),
            Variant(
                "dlrm-alltoall",
                128,
                "the authors' all-to-all study: a table for each of 128 servers",
                DlrmParameters(tables=128),
                ("dlrm-alltoall", "dlrm-128"),
            ),
            Variant("dlrm-testbed", 12, _TESTBED, _DLRM_TESTBED),
        ),
    ),
    "candle": ModelEntry(
        "CANDLE Uno",
        "drug response: five dense towers and a dense trunk, heavy in parameters",
        candle,
        (
            Variant("candle-128", 128, _DEDICATED, CandleParameters(), ("candle-128",)),
            Variant(
                "candle-16", 16, _SHARED, CandleParameters(feature_layers=12, width=4096), ("candle-16",)
            ),
            Variant(
                "candle-testbed",
                12,
                _TESTBED,
                CandleParameters(batch_per_accelerator=120, feature_layers=8, width=4096, dense_layers=4),
                ("candle-16",),
            ),
        ),
    ),
    "bert": ModelEntry(
        "BERT-like transformer",
        "language: blocks of an encoder and a decoder layer",
        bert,
        (
            Variant("bert-128", 128, _DEDICATED, BertParameters(), ("bert-128",)),
            Variant(
                "bert-16",
                16,
                _SHARED,
                BertParameters(blocks=6, hidden=768, heads=12, sequence=256),
                ("bert-16",),
            ),
            Variant(
                "bert-testbed",
                12,
                _TESTBED,
                BertParameters(batch_per_accelerator=24, blocks=6),
                ("bert-128",),
            ),
        ),
    ),
    "ncf": ModelEntry(
        "NCF",
        "recommendation: many small placed tables, matrix factorization beside a perceptron",
        ncf,
        (Variant("ncf-128", 128, _DEDICATED, NcfParameters(), ("ncf-128",)),),
    ),
    "resnet50": ModelEntry(
        "ResNet-50",
        "vision: residual convolutions, bound by computation",
        resnet50,
        (Variant("resnet50-128", 128, _DEDICATED, Resnet50Parameters(), ("resnet50-128",)),),
    ),
    "vgg16": ModelEntry(
        "VGG-16",
        "vision: convolutions and a wide dense head",
        vgg16,
        (
            Variant("vgg16-128", 128, _DEDICATED, Vgg16Parameters(), ("vgg16-128", "vgg16-16")),
            Variant("vgg16-16", 16, _SHARED, Vgg16Parameters(), ("vgg16-16", "vgg16-128")),
        ),
    ),
}


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

    A plain model name means its 16-server variant on up to :data:`SMALL_JOB_SERVERS` servers, where there
    is one, and its 128-server variant otherwise.

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
        return by_name.get(f"{name}-16" if small else f"{name}-128", by_name[f"{name}-128"])
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
