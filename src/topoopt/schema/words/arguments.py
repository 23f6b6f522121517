"""A verb's arguments are of the kinds that its signature and its vocabulary name; all else is refused in one line."""

import inspect
import os
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.limits import LARGEST, MOST
from topoopt.schema.words.word import Amount, defaults

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
_PHRASES = {int: "an integer", float: "a number", str: "text", bool: "True or False", os.PathLike: "a path"}
_LIST_PHRASES: dict[Any, str] = {int: "integers", str: "text"}
_PLAIN = (str, int, float, list, tuple, dict, types.NoneType)


def checked_arguments(verb: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Let a verb refuse misspelled words and arguments of the wrong kind, before it does anything."""
    signature = inspect.signature(verb)

    @wraps(verb)
    def call(*arguments: Parameters.args, **words: Parameters.kwargs) -> Answer:
        kinds = _kinds(verb, signature)
        for word in words:
            check_known("word", word, kinds)
        for name, value in (*zip(signature.parameters, arguments, strict=False), *words.items()):
            _check_kind(name, value, kinds[name])
        return verb(*arguments, **words)

    return call


def refuse_empty(words: Mapping[str, Any]) -> None:
    """Refuse empty text, which would be taken as nothing said.

    Raises
    ------
    InvalidInput
        With the word.
    """
    for name, value in words.items():
        if value == "":
            raise InvalidInput(f'{name}: expected a value, got ""; leave it out for the usual one')


def _kinds(verb: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """Return what each argument is an instance of, the words of the verb's vocabulary among them."""
    kinds = get_type_hints(verb)
    kinds.pop("return", None)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            kinds |= get_type_hints(get_args(kinds.pop(name))[0])
    return kinds


def _check_kind(name: str, value: Any, kind: Any) -> None:
    if not _is_of(value, kind):
        got = shown(value) if isinstance(value, _PLAIN) else _with_article(type(value))
        raise InvalidInput(f"{name}: expected {_phrase(kind)}, got {got}")
    if kind is int and value > MOST.get(name, LARGEST):
        raise InvalidInput(f"{name}: expected an integer <= {MOST.get(name, LARGEST)}, got {shown(value)}")


def _is_of(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_is_of(value, one) for one in inner)
    if origin is tuple:
        return _is_list(value) and len(value) == len(inner) and all(map(_is_of, value, inner))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_is_of(key, inner[0]) for key in value)
    if origin is Sequence:
        return _is_list(value) and all(_is_of(one, inner[0]) for one in value)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    return kind is Any or isinstance(value, origin or kind)


def _is_list(value: Any) -> bool:
    """Whether it is some values; text is one value, and not its characters."""
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)


def _phrase(kind: Any) -> str:
    """Return what is expected, such as ``text or a list of text``."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_phrase(one) for one in inner if one is not types.NoneType))
    if origin in (tuple, Sequence):
        return f"a list of {_LIST_PHRASES.get(inner[0]) or _phrase(inner[0])}"
    if origin is Mapping:
        return f"a mapping from {_phrase(inner[0])}"
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return "a function"
    named: type = origin or kind
    return _PHRASES.get(named) or _with_article(named)


def _with_article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


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
