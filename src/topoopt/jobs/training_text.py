"""How a transformer is trained in one cell of a table: ``adapter_rank=16 global_batch=64``."""

import shlex
from collections.abc import Mapping
from typing import Annotated, Any, get_args

from topoopt.base.errors import InvalidInput, shown
from topoopt.jobs.file import TrainingPart
from topoopt.jobs.request import TRAINING_FILES, names_file
from topoopt.schema.files import validated


def training_of_text(text: str, place: str) -> dict[str, Any]:
    """Return the words of a training that a text says, each with its value.

    Parameters
    ----------
    text
        Words of :class:`TrainingPart` with their values, blanks between them.
    place
        What stands in front of a message.

    Raises
    ------
    InvalidInput
        For an unknown word, one that stands twice, a value that it cannot have, or the name of a file: a table says
        everything itself.

    Examples
    --------
    >>> training_of_text("adapter_rank=16 global_batch=64", "training")
    {'global_batch': 64, 'adapter_rank': 16}
    """
    said: dict[str, str] = {}
    for part in _parts(text, place):
        word, sign, value = part.partition("=")
        if not word or not sign or not value:
            raise InvalidInput(f"{place}: expected words such as global_batch=64, got {shown(part)}")
        if word in said:
            raise InvalidInput(f"{place}: {word} stands twice; leave one out")
        said[word] = value
    for word in TRAINING_FILES:
        if names_file(said.get(word, "")):
            raise InvalidInput(f"{place}: {word}: expected a name, got the file {shown(said[word])}")
    return validated(TrainingPart, said, place).model_dump(exclude_none=True)


def text_of_training(training: Mapping[str, Any]) -> str:
    """Return words and values as one text, always in the same order; :func:`training_of_text` reads it.

    Examples
    --------
    >>> text_of_training({"global_batch": 64, "adapter_rank": 16, "graphs": True})
    'adapter_rank=16 global_batch=64 graphs=true'
    """
    return " ".join(f"{word}={_written(value)}" for word, value in sorted(training.items()))


def training_kinds() -> dict[str, Any]:
    """Return the type of each word of a training, with its bounds, as a model of a file takes it."""
    kinds = {}
    for name, field in TrainingPart.model_fields.items():
        kind = get_args(field.annotation)[0]
        kinds[name] = Annotated[(kind, *field.metadata)] if field.metadata else kind
    return kinds


def _parts(text: str, place: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{place}: {error}, in {shown(text)}") from None


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))
