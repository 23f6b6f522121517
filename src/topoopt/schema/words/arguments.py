"""Words and their check: a word is a key of a typed dictionary, and a verb's arguments are of its kind."""

import ast
import inspect
import os
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.limits import LARGEST, MOST, whole
from topoopt.schema.words.synonyms import known_as

Amount = str | float
"""Text with a unit (``"100Gbps"``), or a number in SI units."""
Vocabulary = TypeVar("Vocabulary", bound=type)
TEXT_LISTS: dict[str, Callable[[], Iterable[str]]] = {}
"""Lists of names that texts contain as ``{name of the list}``; the packages that have the lists add them."""


@dataclass(frozen=True, slots=True)
class Word:
    """How a word is given, where its name and its type do not say it all.

    Attributes
    ----------
    form : str
        What a value looks like, such as ``FILE``; an integer is ``N``.
    default : object
        What holds where the word is not given; None where a file, a preset or the library decides.
    names : tuple of str
        What it is called on the command line, where not by its name; ``yes/no`` are two flags.
    commas : str
        What a list with commas is of, for messages.
    repeated : bool
        Whether one more flag is one more value, in place of commas.
    setting : str
        Its key in the settings file, where another verb's word of its name means something else.
    """

    form: str | None = None
    default: Any = None
    names: tuple[str, ...] = ()
    commas: str = "names with commas, or none"
    repeated: bool = False
    setting: str = ""


Rate = Annotated[Amount, Word("RATE")]
Time = Annotated[Amount, Word("TIME")]
Size = Annotated[Amount, Word("SIZE")]
File = Annotated[str, Word("FILE")]
Switch = Annotated[bool, Word(default=False)]


@dataclass(frozen=True, slots=True)
class DescribedWord:
    """A word of a vocabulary, with all that is known of it.

    Attributes
    ----------
    kind : type
        Of its values.
    text : str
        What it is, in a sentence or two.
    panel : str or None
        The heading that it stands under.
    """

    name: str
    kind: Any
    word: Word
    text: str
    panel: str | None


def panel(title: str) -> Callable[[Vocabulary], Vocabulary]:
    """Put the words of a vocabulary under a heading of their own."""

    def mark(vocabulary: Vocabulary) -> Vocabulary:
        vocabulary.__panel__ = title  # type: ignore[attr-defined]
        return vocabulary

    return mark


_PHRASES = {int: "an integer", float: "a number", str: "text", bool: "True or False", os.PathLike: "a path"}
_LIST_PHRASES: dict[Any, str] = {int: "integers", str: "text"}
_PLAIN = (str, int, float, list, tuple, dict, types.NoneType)


def check_names(words: Iterable[str], known: Collection[str]) -> None:
    """Refuse a word that is not known, with the nearest that are.

    Raises
    ------
    InvalidInput
        With the first of them.
    """
    for word in words:
        ours = None if word in known else known_as(word, known)
        if ours is not None:
            raise InvalidInput(f'word: unknown name "{word}"; did you mean {ours}?')
        check_known("word", word, known)


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


def kinds_of(verb: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """Return what each argument is an instance of, the words of the verb's vocabulary among them."""
    kinds = get_type_hints(verb)
    kinds.pop("return", None)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            kinds |= get_type_hints(get_args(kinds.pop(name))[0])
    return kinds


def check_kind(name: str, value: Any, kind: Any) -> None:
    """Refuse a value that is of another kind than a word.

    Raises
    ------
    InvalidInput
        With the word and the kind that is expected.
    """
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
    """Return the words and the defaults of others; a misspelled word, or a random seed below 0, is refused.

    Raises
    ------
    InvalidInput
        With the nearest known words.
    """
    check_names(words, vocabulary.__annotations__)
    if "seed" in words:
        whole("seed", words["seed"])
    return {**defaults(vocabulary), **words}


def pick(words: Mapping[str, Any], *names: type | Iterable[str]) -> dict[str, Any]:
    """Return those words that are of a vocabulary, or among some names, in that order."""
    known = [word for some in names for word in (some.__annotations__ if isinstance(some, type) else some)]
    return {word: words[word] for word in known if word in words}


def as_flag(word: str) -> str:
    """Return the flag of a word."""
    return "--" + word.replace("_", "-")


def as_flags(changes: Mapping[str, Any]) -> str:
    """Return words with their values as flags.

    Examples
    --------
    >>> as_flags({"zero": 1, "sequence_parallel": True, "offload_optimizer": 1.0})
    '--zero 1 --sequence-parallel --offload-optimizer 1'
    """
    parts = {True: "{}", False: "without {}"}
    return " ".join(
        parts[value].format(as_flag(word))
        if isinstance(value, bool)
        else f"{as_flag(word)} {f'{value:g}' if isinstance(value, float) else value}"
        for word, value in changes.items()
    )


def amount(parse: Callable[[str, str], float], value: Amount, word: str) -> float:
    """Return an amount in SI units; a number is one already."""
    return parse(value, word) if isinstance(value, str) else float(value)


def described(vocabulary: type) -> tuple[DescribedWord, ...]:
    """Return the words of a vocabulary, those of the vocabularies that it extends first."""
    kinds = get_type_hints(vocabulary, include_extras=True)
    return tuple(
        DescribedWord(name, *kind_and_word(kinds[name]), text, heading)
        for name, text, heading in _texts(vocabulary, None)
    )


def defaults(vocabulary: type) -> dict[str, Any]:
    """Return what holds where words are not given, of those that have a default."""
    kinds = get_type_hints(vocabulary, include_extras=True)
    values = {name: kind_and_word(kind)[1].default for name, kind in kinds.items()}
    return {name: value for name, value in values.items() if value is not None}


def kind_and_word(kind: Any) -> tuple[Any, Word]:
    """Return the kind of a word's values, and how the word is given."""
    if not hasattr(kind, "__metadata__"):
        return kind, Word("N" if kind is int else None)
    return get_args(kind)[0], kind.__metadata__[0]


def _texts(vocabulary: type, heading: str | None) -> Iterator[tuple[str, str, str | None]]:
    """Yield each word with the text below it, which Python itself does not keep, and its heading."""
    module = inspect.getmodule(vocabulary)
    node = _classes(module)[vocabulary.__name__]
    heading = getattr(vocabulary, "__panel__", heading)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id != "TypedDict":
            yield from _texts(getattr(module, base.id), heading)
    for item, below in pairwise((*node.body, None)):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            assert isinstance(below, ast.Expr), f"{item.target.id} needs a text below it"
            assert isinstance(below.value, ast.Constant)
            yield item.target.id, _filled(" ".join(str(below.value.value).split())), heading


def _filled(text: str) -> str:
    """Return a text with the lists that it contains."""
    return re.sub(r"\{([a-z ]+)\}", lambda found: ", ".join(TEXT_LISTS[found[1]]()), text)


@cache
def _classes(module: Any) -> Mapping[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
