"""Transformers as a list shows them: shapes, parameters by cause, FLOPs of a token."""

from dataclasses import asdict, dataclass
from typing import Any

from topoopt.workloads.transformer.config import left_out_of_config, read_config
from topoopt.workloads.transformer.flops import forward_flops
from topoopt.workloads.transformer.model import TransformerModel
from topoopt.workloads.transformer.parameters import ParameterCount, count_parameters
from topoopt.workloads.transformer.zoo import TRANSFORMERS, TransformerEntry, find_transformer, is_transformer


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
            "parameters_by_cause": self.parameters.by_cause,
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
        return tuple(map(_listed, TRANSFORMERS.values()))
    if name.lower().endswith(".json"):
        others = left_out_of_config(name)
        source = f"{name}: its language model alone; left out: {others}" if others else name
        return (_listed(TransformerEntry(read_config(name), (), "", source)),)
    return (_listed(TRANSFORMERS[find_transformer(name).name]),) if is_transformer(name) else ()


def _listed(entry: TransformerEntry) -> ListedTransformer:
    model = entry.model
    counted = count_parameters(model), forward_flops(model).total_flops
    return ListedTransformer(model, *counted, entry.aliases, entry.published, entry.source)
