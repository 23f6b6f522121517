"""Transformers as a list shows them: shapes, parameters by cause, FLOPs of a token."""

from dataclasses import asdict, dataclass
from typing import Any

from topoopt.transformer.config import read_config
from topoopt.transformer.flops import forward_flops
from topoopt.transformer.model import TransformerModel
from topoopt.transformer.parameters import ParameterCount, count_parameters
from topoopt.transformer.zoo import TRANSFORMERS, find_transformer, is_transformer

CAUSES = (
    *("embedding", "positions", "attention", "mlp", "router"),
    *("experts", "shared", "norms", "output", "extra"),
)
"""The causes of parameters in the order of a model."""


@dataclass(frozen=True, slots=True)
class ListedTransformer:
    """A transformer and what follows from its shapes.

    Attributes
    ----------
    forward_flops_per_token : float
    published : str
        Parameters as its makers write them; empty for a file.
    source : str
        Where the shapes stand, or the file.
    """

    model: TransformerModel
    parameters: ParameterCount
    forward_flops_per_token: float
    aliases: tuple[str, ...]
    published: str
    source: str

    def to_json(self) -> dict[str, Any]:
        """Return shapes, parameters by cause and FLOPs as a mapping."""
        shapes = asdict(self.model)
        return {
            "transformer": shapes.pop("name"),
            "aliases": list(self.aliases),
            **shapes,
            "parameters": self.parameters.total,
            "active_parameters": self.parameters.active,
            "parameters_by_cause": {cause: getattr(self.parameters, cause) for cause in CAUSES},
            "forward_flops_per_token": self.forward_flops_per_token,
            "published": self.published,
            "source": self.source,
        }


def listed_transformers(name: str | None = None) -> tuple[ListedTransformer, ...]:
    """Return all transformers of the zoo; or the one of a name or file, or none if it is no transformer's.

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    if name is None:
        return tuple(_listed(entry.model) for entry in TRANSFORMERS.values())
    if name.lower().endswith(".json"):
        return (_listed(read_config(name), name),)
    return (_listed(find_transformer(name)),) if is_transformer(name) else ()


def _listed(model: TransformerModel, file: str = "") -> ListedTransformer:
    entry = None if file else TRANSFORMERS[model.name]
    return ListedTransformer(
        model,
        count_parameters(model),
        forward_flops(model).total_flops,
        entry.aliases if entry else (),
        entry.published if entry else "",
        entry.source if entry else file,
    )
