"""A point of a sweep from the values of its axes: of operators as they are, of a transformer with its training."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from topoopt.base.errors import InvalidInput
from topoopt.jobs import JobRequest, JobSettings, text_of_training, training_kinds
from topoopt.search import TrainingRequest, training_request
from topoopt.studies.sweep.defaults import ModelDefaults
from topoopt.studies.sweep.model import KEY_OF_FIELD
from topoopt.studies.sweep.point import SETTINGS_FIELDS, Point

TRAINING: Final = tuple(training_kinds())
"""Words of a training, which only transformers have; but for ``accelerators``, which are servers of all others."""

OF_OPERATORS: Final = (
    *(name for name in SETTINGS_FIELDS if name != "precision"),
    *("mode", "budget", "baseline_budget", "chains", "rounds", "alpha_per_ms"),
)
"""Fields of Point that transformers do not have: costs of operators, and the search over these."""

CLUSTER: Final = {
    "bandwidth_bps": "link_bandwidth_bps",
    **{
        name: name
        for name in (
            "servers",
            "degree",
            "accelerators_per_server",
            "accelerator",
            "intra_server_bandwidth_bps",
            "link_latency_s",
            "links",
        )
    },
}
"""Fields of Point, and of ClusterSpec what they say."""


def made_point(model: ModelDefaults, values: Mapping[str, Any], place: str) -> Point:
    """Return the point of a model that has these values.

    Parameters
    ----------
    values
        Fields of Point and words of a training.
    place
        The sweep file, for messages.

    Raises
    ------
    InvalidInput
        If numbers do not go together.
    """
    training = {word: value for word, value in values.items() if word in TRAINING}
    fields = {name: value for name, value in values.items() if name not in TRAINING}
    if model.transformer:
        try:
            return _of_transformer(model, fields, training)
        except InvalidInput as error:
            raise InvalidInput(f"{place}: {fields['model']}: {error}") from None
    if "accelerators" in training:
        each = fields.get("accelerators_per_server", model.fields["accelerators_per_server"])
        servers, rest = divmod(training["accelerators"], each)
        if rest or servers < 2:
            raise InvalidInput(
                f"{place}: {fields['model']}: accelerators {training['accelerators']}: must be two or more servers of "
                f"{each}; take the value out, or give accelerators_per_server"
            )
        fields["servers"] = servers
    return Point(**{**model.fields, **fields})


def _of_transformer(model: ModelDefaults, fields: Mapping[str, Any], words: Mapping[str, Any]) -> Point:
    asked = _training(model.request, fields, words)
    cluster = asdict(asked.cluster)
    said = {**words, "global_batch": asked.global_batch, "seq": asked.model.sequence}
    said.pop("accelerators", None)
    kept = {name: value for name, value in fields.items() if name not in OF_OPERATORS}
    return Point(
        **{
            **model.fields,
            **asdict(JobSettings(compute="roofline", precision=asked.precision)),
            **kept,
            **{field: cluster[name] for field, name in CLUSTER.items()},
            "precision": asked.precision,
            "batch_per_accelerator": 0,
            "training": text_of_training(said),
        }
    )


def _training(request: JobRequest, fields: Mapping[str, Any], words: Mapping[str, Any]) -> TrainingRequest:
    """Return what is asked for, completed: the sweep file goes over the job file."""
    cluster = {CLUSTER[name]: value for name, value in fields.items() if name in CLUSTER}
    training = {**request.training, **words}
    if "servers" in cluster:
        training.pop("accelerators", None)
    elif "accelerators" in words:
        request = replace(
            request, cluster={key: value for key, value in request.cluster.items() if key != "servers"}
        )
    batch = fields.get("batch_per_accelerator", 0)
    if batch and "global_batch" in words:
        raise InvalidInput("global_batch: batch_per_accelerator says the batch, too; leave one of them out")
    settings = {"precision": fields["precision"]} if "precision" in fields else {}
    asked = replace(request, training=training, search={}).overlaid(
        JobRequest(cluster=cluster, settings=settings)
    )
    found = training_request(asked)
    return replace(found, global_batch=batch * found.cluster.total_accelerators) if batch else found


def refuse_unused(axes: Iterable[str], models: Iterable[ModelDefaults], place: str) -> None:
    """Refuse keys that no model of the sweep has.

    Raises
    ------
    InvalidInput
        With the key.
    """
    kinds = {model.transformer for model in models}
    for field in axes:
        key = KEY_OF_FIELD.get(field, field)
        if kinds == {False} and field in TRAINING and field != "accelerators":
            raise InvalidInput(
                f"{place}: {key}: is for transformers, and no model of the sweep is one; leave it out"
            )
        if kinds == {True} and field in OF_OPERATORS:
            raise InvalidInput(
                f"{place}: {key}: is for models of operators, and no model of the sweep is one; leave it out"
            )
