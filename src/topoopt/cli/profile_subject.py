"""What ``topoopt profile`` is asked to measure: a model of operators on a cluster, or a transformer."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.job import JobRequest
    from topoopt.profile import Subject
    from topoopt.transformer import TransformerModel


@dataclass(frozen=True, slots=True)
class ProfileWords:
    """The words of the command that say what is measured; ``None`` where a flag was not given."""

    source: str
    variant: str | None
    change: list[str]
    batch_per_accelerator: int | None
    servers: int | None
    accelerators_per_server: int | None
    tensor_parallel: str | None
    micro_batch: str | None
    seq: int | None


_OF_OPERATORS = ("variant", "change", "batch_per_accelerator", "servers", "accelerators_per_server")
_OF_TRANSFORMERS = ("tensor_parallel", "micro_batch", "seq")


def asked_subject(words: ProfileWords) -> "Subject":
    """Return what is to be measured.

    Raises
    ------
    InvalidInput
        If there is no such model or file, or a flag is for the other kind of model.
    """
    from topoopt.job import request_of

    if words.variant == "":
        raise InvalidInput("--variant: expected a name, got nothing")
    request = request_of(words.source)
    transformer = _transformer(request)
    if transformer is not None:
        _refuse(words, _OF_OPERATORS, f"for models of operators, and {transformer.name} is a transformer")
        return _transformer_subject(transformer, words)
    _refuse(words, _OF_TRANSFORMERS, f"for transformers, and {words.source} is none")
    return _job_subject(request, words)


def _transformer(request: "JobRequest") -> "TransformerModel | None":
    from topoopt.search import is_transformer
    from topoopt.transformer import find_transformer, read_config

    if not is_transformer(request):
        return None
    return read_config(request.config) if request.config else find_transformer(request.model)


def _transformer_subject(model: "TransformerModel", words: ProfileWords) -> "Subject":
    from topoopt.profile import MICRO_BATCHES, TENSOR_DEGREES, subject_of_transformer

    if words.seq is not None and words.seq < 1:
        raise InvalidInput(f"--seq: expected an integer >= 1, got {words.seq}")
    return subject_of_transformer(
        replace(model, sequence=words.seq or model.sequence),
        tensor_degrees=_numbers(words.tensor_parallel, "--tensor-parallel", TENSOR_DEGREES),
        micro_batches=_numbers(words.micro_batch, "--micro-batch", MICRO_BATCHES),
    )


def _job_subject(request: "JobRequest", words: ProfileWords) -> "Subject":
    from topoopt.cli.words import changes
    from topoopt.job import requested_job
    from topoopt.profile import subject_of_job
    from topoopt.verbs import job_request

    if request.traffic:
        raise InvalidInput(
            f"{words.source}: holds bytes and no operators that could be measured; name a model"
        )
    if request.profile:
        raise InvalidInput(f"{words.source}: is or names a profile already; name a model to measure it here")
    names = ("variant", "batch_per_accelerator", "servers", "accelerators_per_server")
    given = {name: getattr(words, name) for name in names if getattr(words, name) is not None}
    said = job_request(words.source, {**given, "set": changes(words.change or [])})
    job = requested_job(said)
    if said.operators:
        return subject_of_job(job, "operators")
    return subject_of_job(job, "zoo", _read_changes(said, job.name))


def _read_changes(said: "JobRequest", variant: str) -> dict[str, int | tuple[int, ...]]:
    """Return the changed hyper-parameters as numbers."""
    from topoopt.workload import resolve_variant, with_overrides

    model, chosen = resolve_variant(variant)
    parameters = with_overrides(model, chosen.parameters, said.hyperparameters)
    return {name: getattr(parameters, name) for name in sorted(said.hyperparameters)}


def _refuse(words: ProfileWords, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if getattr(words, name) not in (None, []):
            flag = "--set" if name == "change" else "--" + name.replace("_", "-")
            raise InvalidInput(f"{flag}: is {why}; leave it out")


def _numbers(text: str | None, flag: str, default: tuple[int, ...]) -> tuple[int, ...]:
    if text is None:
        return default
    try:
        numbers = tuple(int(word) for word in listed(text, flag, "numbers with commas") or ())
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise InvalidInput(f'{flag}: expected numbers >= 1 with commas, such as 1,2,4, got "{text}"')
    return numbers
