"""``topoopt.profile``: every operator of a model measured on the hardware of this machine."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.base.units import parse_time
from topoopt.frontends.verbs import NamedSource, job_request
from topoopt.jobs import JobRequest, request_of, requested_job
from topoopt.plugins.profiling.device import check_device
from topoopt.plugins.profiling.measure import Repetitions
from topoopt.plugins.profiling.run import ProfileRun, measure_to_file
from topoopt.plugins.profiling.subject import (
    MICRO_BATCHES,
    TENSOR_DEGREES,
    Subject,
    only_operators,
    subject_of_job,
    subject_of_transformer,
)
from topoopt.plugins.profiling.words import ProfileWords, SubjectWords
from topoopt.schema.words import amount, checked_arguments, checked_words, pick
from topoopt.search import is_transformer
from topoopt.workloads import resolve_variant, with_overrides
from topoopt.workloads.transformer import find_transformer, read_config

_OF_JOBS = ("variant", "set", "batch_per_accelerator", "servers", "accelerators_per_server")
_OF_TRANSFORMERS = ("tensor_parallel", "micro_batch", "seq")


@checked_arguments
def profile(
    source: NamedSource,
    *,
    out: str | os.PathLike[str] | None = None,
    on_progress: Progress = silent,
    **words: Unpack[ProfileWords],
) -> ProfileRun:
    """Measure a model's operators on this machine, at every split size that the search may choose.

    Needs PyTorch: ``pip install "topoopt[torch]"``. After Ctrl-C, or at the time limit, the same call goes on.

    Parameters
    ----------
    source
        A model's name, operators, a job, a transformer or its ``config.json``.
    out
        A file for the profile, written during the measurement; sizes in it are not measured again.
    on_progress
        Progress callback: size, sizes done, and total.
    **words
        The flags of ``topoopt profile`` with underscores: ``device``, ``precision``, ``repetitions`` …

    Returns
    -------
    ProfileRun

    Raises
    ------
    InvalidInput
        For an unknown option or name, if PyTorch or the device is not here, or the file is of something else.
    """
    how = checked_words(words, ProfileWords)
    device = how["device"], how["precision"], how["threads"]
    check_device(*device)
    repetitions = Repetitions(how["warm_up"], how["repetitions"])
    return measure_to_file(
        _subject(source, words),
        device,
        None if out is None else os.fspath(out),
        repetitions=repetitions,
        time_limit_s=_limit_s(words),
        on_progress=on_progress,
    )


@checked_arguments
def profile_subject(source: NamedSource, **words: Unpack[SubjectWords]) -> Subject:
    """Return the operators that :func:`topoopt.profile` would measure; PyTorch is not needed.

    Returns
    -------
    Subject

    Raises
    ------
    InvalidInput
        If there is no such model or file, or a word is for the other kind of model.

    Examples
    --------
    >>> import topoopt
    >>> topoopt.profile_subject("llama2-7b", tensor_parallel=(1, 8), micro_batch=(1, 2), seq=128).sizes
    34
    """
    checked_words(words, SubjectWords)
    return _subject(source, words)


def _subject(source: NamedSource, words: Mapping[str, Any]) -> Subject:
    if words.get("variant") == "":
        raise InvalidInput("variant: expected a name, got nothing")
    request = source if isinstance(source, JobRequest) else request_of(os.fspath(source))
    if is_transformer(request):
        model = read_config(request.config) if request.config else find_transformer(request.model)
        _refuse(words, _OF_JOBS, f"for models of operators, and {model.name} is a transformer")
        sequence = whole("seq", words["seq"], 1) if "seq" in words else model.sequence
        subject = subject_of_transformer(
            replace(model, sequence=sequence),
            tensor_degrees=_numbers(words, "tensor_parallel") or TENSOR_DEGREES,
            micro_batches=_numbers(words, "micro_batch") or MICRO_BATCHES,
        )
    else:
        _refuse(words, _OF_TRANSFORMERS, f"for transformers, and {source} is none")
        if request.traffic:
            raise InvalidInput(f"{source}: holds bytes and no operators that could be measured; name a model")
        if request.profile:
            raise InvalidInput(f"{source}: is or names a profile already; name a model to measure it here")
        whole_request = job_request(request, pick(words, _OF_JOBS))
        job = requested_job(whole_request)
        if whole_request.operators or whole_request.program:
            subject = subject_of_job(job, "operators")
        else:
            subject = subject_of_job(job, "zoo", _changes(whole_request, job.name))
    if "operators" not in words:
        return subject
    return only_operators(subject, _listed(words, "operators", "kinds or names with commas"))


def _changes(request: JobRequest, variant: str) -> dict[str, int | tuple[int, ...]]:
    model, published = resolve_variant(variant)
    parameters = with_overrides(model, published.parameters, request.hyperparameters)
    return {name: getattr(parameters, name) for name in sorted(request.hyperparameters)}


def _refuse(words: Mapping[str, Any], names: Sequence[str], why: str) -> None:
    for name in names:
        if name in words:
            raise InvalidInput(f"{name}: is {why}; leave it out")


def _listed(words: Mapping[str, Any], word: str, what: str) -> tuple[str, ...]:
    """Return the items of ``a,b,c``, or of a sequence, each once."""
    value = words[word]
    parts = value.split(",") if isinstance(value, str) else map(str, value)
    listed = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if not listed:
        raise InvalidInput(f'{word}: expected {what}, got "{value}"')
    return listed


def _numbers(words: Mapping[str, Any], word: str) -> tuple[int, ...]:
    if word not in words:
        return ()
    what = "numbers >= 1 with commas, such as 1,2,4"
    try:
        numbers = tuple(int(part) for part in _listed(words, word, what))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise InvalidInput(f'{word}: expected {what}, got "{words[word]}"')
    return tuple(whole(word, number, 1) for number in numbers)


def _limit_s(words: Mapping[str, Any]) -> float:
    if "time_limit" not in words:
        return float("inf")
    limit_s = amount(parse_time, words["time_limit"], "time_limit")
    if limit_s <= 0:
        raise InvalidInput(f'time_limit: must be positive, got "{words["time_limit"]}"')
    return limit_s
