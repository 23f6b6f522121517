"""``topoopt.studio``: a live page in the browser, served until it is interrupted."""

from collections.abc import Callable
from typing import Unpack

from topoopt.files import is_file
from topoopt.studio import StudioAddress, check_installed, question_of, serve
from topoopt.words import QuestionWords, StudioWords, checked_arguments, checked_words, pick


def silent(address: StudioAddress) -> None:
    """Say nothing."""


@checked_arguments
def studio(
    model: str | None = None,
    *,
    on_ready: Callable[[StudioAddress], None] = silent,
    **words: Unpack[StudioWords],
) -> StudioAddress:
    """Serve a page that answers while one asks: which network, how long, how much, and why.

    Parameters
    ----------
    model
        What the page opens with: a model's name, or a file that a plan takes.
    on_ready
        Called with the address, once it listens.
    **words
        The flags of ``topoopt studio`` with underscores: ``servers``, ``degree``, ``host``, ``port`` …

    Returns
    -------
    StudioAddress
        Where it was, after it has been interrupted.

    Raises
    ------
    InvalidInput
        If it cannot listen there, its libraries are not installed, or a word of the question is wrong.
    """
    check_installed()
    settings = checked_words(words, StudioWords)
    asked = pick(settings, QuestionWords)
    named = [one for one in (model, asked.get("prices")) if one is not None and is_file(one)]
    files = frozenset(named)
    first = question_of({**asked, **({} if model is None else {"model": model})}, files=files)
    return serve(
        first,
        files,
        host=settings["host"],
        port=settings["port"],
        token=settings.get("token"),
        browser=settings["browser"],
        on_ready=on_ready,
    )
