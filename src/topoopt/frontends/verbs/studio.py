"""``topoopt.studio``: a live page in the browser, served until it is interrupted."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from topoopt.frontends.web import (
    Question,
    StudioAddress,
    StudioAnswer,
    answer_question,
    check_address,
    check_installed,
    question_of,
    request_of_question,
)
from topoopt.schema.files import is_file
from topoopt.schema.words import (
    QuestionWords,
    StudioWords,
    checked_arguments,
    checked_words,
    pick,
    refuse_empty,
)


def silent(address: StudioAddress) -> None:
    """Say nothing."""


@checked_arguments
def studio(
    model: str | None = None,
    *,
    on_ready: Callable[[StudioAddress], None] = silent,
    **words: Unpack[StudioWords],
) -> StudioAddress:
    """Serve a page with immediate answers: best network, time, price, and reasons.

    Parameters
    ----------
    model
        Model that the page opens with: a name, or a file accepted by ``plan``.
    on_ready
        Called with the address when it listens.
    **words
        The flags of ``topoopt studio`` with underscores: ``servers``, ``degree``, ``host``, ``port`` …

    Returns
    -------
    StudioAddress
        Address of the studio, after it has been interrupted.

    Raises
    ------
    InvalidInput
        If it cannot listen there, its libraries are not installed, or an option of the question is wrong.
    """
    settings = checked_words(words, StudioWords)
    refuse_empty(settings)
    first, files = _question(model, pick(settings, QuestionWords))
    if first.model in files:
        request_of_question(first)  # what is no model is refused before the page opens
    check_address(settings["port"], settings.get("token"), settings.get("seconds"))
    check_installed()
    from topoopt.frontends.web import serve  # noqa: PLC0415 - its libraries are an extra

    return serve(
        first,
        files,
        host=settings["host"],
        port=settings["port"],
        token=settings.get("token"),
        browser=settings["browser"],
        longest_s=settings.get("seconds"),
        on_ready=on_ready,
    )


@checked_arguments
def studio_answer(model: str | None = None, **words: Unpack[QuestionWords]) -> StudioAnswer:
    """Return the page's answer to a question: every fabric at once, in closed form, with its price.

    Parameters
    ----------
    model
        A model's name, or a file that a plan takes; ``llama3-70b`` if not given.
    **words
        Options of the question: ``servers``, ``degree``, ``bandwidth`` …

    Returns
    -------
    StudioAnswer
        Answer with ``to_json()``, as returned by the page's server.

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.
    Infeasible
        If no training configuration fits in memory.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.studio_answer("llama3-8b", servers=16, degree=4, bandwidth="400Gbps")
    >>> found.best in [row.fabric for row in found.fabrics]
    True
    """
    return answer_question(_question(model, words)[0])


def _question(model: str | None, words: Mapping[str, Any]) -> tuple[Question, frozenset[str]]:
    said = {**words, **({} if model is None else {"model": model})}
    files = frozenset(one for one in (model, words.get("prices")) if one is not None and is_file(one))
    return question_of(said, files=files), files
