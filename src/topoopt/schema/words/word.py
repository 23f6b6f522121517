"""What a word is: a key of a typed dictionary. The text below it is its description at both doors."""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

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
    """

    form: str | None = None
    default: Any = None
    names: tuple[str, ...] = ()
    commas: str = "names with commas, or none"
    repeated: bool = False


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


def described(vocabulary: type) -> tuple[DescribedWord, ...]:
    """Return the words of a vocabulary, those of the vocabularies that it extends first."""
    kinds = get_type_hints(vocabulary, include_extras=True)
    return tuple(
        DescribedWord(name, *_kind_and_word(kinds[name]), text, heading)
        for name, text, heading in _texts(vocabulary, None)
    )


def defaults(vocabulary: type) -> dict[str, Any]:
    """Return what holds where words are not given, of those that have a default."""
    kinds = get_type_hints(vocabulary, include_extras=True)
    values = {name: _kind_and_word(kind)[1].default for name, kind in kinds.items()}
    return {name: value for name, value in values.items() if value is not None}


def _kind_and_word(kind: Any) -> tuple[Any, Word]:
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
