"""Words that somebody gives: checked and filled up, picked, and their amounts in SI units."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from topoopt.base.errors import check_known
from topoopt.schema.words.word import Amount, defaults


def checked_words(words: Mapping[str, Any], vocabulary: type) -> dict[str, Any]:
    """Return the words and the defaults of others; a misspelled word is refused.

    Raises
    ------
    InvalidInput
        With the nearest known words.
    """
    for word in words:
        check_known("word", word, vocabulary.__annotations__)
    return {**defaults(vocabulary), **words}


def pick(words: Mapping[str, Any], *names: type | Iterable[str]) -> dict[str, Any]:
    """Return those words that are of a vocabulary, or among some names, in that order."""
    known = [word for some in names for word in (some.__annotations__ if isinstance(some, type) else some)]
    return {word: words[word] for word in known if word in words}


def amount(parse: Callable[[str, str], float], value: Amount, word: str) -> float:
    """Return an amount in SI units; a number is one already."""
    return parse(value, word) if isinstance(value, str) else float(value)
