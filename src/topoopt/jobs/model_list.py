"""The models that a job may name: those of operators with their variants, and transformers."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.workloads import MODELS, ListedModel, listed_model, resolve_variant
from topoopt.workloads.transformer import ListedTransformer, find_transformer, listed_transformers


@shows_itself
@dataclass(frozen=True, slots=True)
class ModelList:
    """All models, or the one that was named; ``named`` says which."""

    models: tuple[ListedModel, ...]
    transformers: tuple[ListedTransformer, ...]
    named: bool

    def to_json(self) -> dict[str, Any]:
        """Return both lists as a mapping."""
        return {
            "models": [model.to_json() for model in self.models],
            "transformers": [transformer.to_json() for transformer in self.transformers],
        }

    def to_frame(self) -> Frame:
        """Return a row for each variant and each transformer, as pandas has it."""
        variants = [
            {
                "model": variant.variant,
                "servers": variant.servers,
                "parameter_bytes": variant.parameter_bytes,
                "description": variant.description,
            }
            for model in self.models
            for variant in model.variants
        ]
        transformers = [
            {"model": one.model.name, "parameters": one.parameters.total, "description": one.model.family}
            for one in self.transformers
        ]
        return frame([*variants, *transformers])


def listed_models(name: str | None = None) -> ModelList:
    """Return all models, or the one of a name or of a transformer's ``config.json``.

    Raises
    ------
    InvalidInput
        If there is no such model; with the nearest, or why it cannot be one.
    """
    transformers = listed_transformers(name)
    if name is None:
        return ModelList(tuple(map(listed_model, MODELS)), transformers, named=False)
    models = () if transformers else (listed_model(_model_of(name)),)
    return ModelList(models, transformers, named=True)


def _model_of(name: str) -> str:
    """Return the model that a name means; naming a variant means its model."""
    try:
        return resolve_variant(name)[0]
    except InvalidInput as unknown:
        raise _nearer(name, unknown) from None


def _nearer(name: str, unknown: InvalidInput) -> InvalidInput:
    """Return what there is to say of transformers where one is near, or why the model is none; else ``unknown``."""
    try:
        find_transformer(name)
    except InvalidInput as reason:
        if "did you mean" in str(reason) or "unknown" not in str(reason):
            return reason
    return unknown
