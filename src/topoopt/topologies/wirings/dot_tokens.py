"""The words and signs of a DOT file, each with its line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, shown

_SIGNS = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)"
    r"|(?P<sign>--|->|[{}\[\];,=:+])"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<word>-?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[A-Za-z_\u0080-\uffff\U00010000-\U0010ffff][\w\u0080-\uffff]*)"
    r"|(?P<html><)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A sign (``sign`` is true), or a word that may have stood in quotes."""

    text: str
    line: int
    sign: bool = False
    quoted: bool = False


def dot_tokens(text: str) -> Iterator[Token]:
    """Yield what stands in a DOT file, without remarks; quoted parts that a + joins are one word.

    Raises
    ------
    InvalidInput
        With the line, for what belongs to no DOT file, or quotes or brackets that do not end.
    """
    held: Token | None = None  # a quoted word that a + may go on with
    joins = False
    for token in _pieces(text):
        if held is not None and token.sign and token.text == "+":
            joins = True
        elif held is not None and joins:
            held, joins = Token(held.text + token.text, held.line, quoted=True), False
        else:
            if held is not None:
                yield held
            held = token if token.quoted else None
            if held is None:
                yield token
    if held is not None:
        yield held


def _pieces(text: str) -> Iterator[Token]:
    place, line, word_ends = 0, 1, -1
    while place < len(text):
        found = _SIGNS.match(text, place)
        if found is None or (
            found.lastgroup == "word" and place == word_ends
        ):  # as in srv-1, which is two words
            rest = text[place:].partition("\n")[0]
            raise InvalidInput(f"line {line}: not DOT: {shown(rest[:40])}; put names in quotes")
        kind, piece = found.lastgroup, found[0]
        word_ends = place + len(piece) if kind == "word" else word_ends
        if kind == "html":
            piece = _html(text, place, line)
            yield Token(re.sub(r"<[^<>]*>", " ", piece[1:-1]).strip(), line)
        elif kind == "quoted":
            yield Token(re.sub(r"\\(\n|\")", lambda one: one[1].strip(), piece[1:-1]), line, quoted=True)
        elif kind != "blank":
            yield Token(piece, line, sign=kind == "sign")
        place += len(piece)
        line += piece.count("\n")


def _html(text: str, start: int, line: int) -> str:
    """Return a label between < and >, which may hold tags."""
    depth = 0
    for sign in re.compile("[<>]").finditer(text, start):
        depth += 1 if sign[0] == "<" else -1
        if not depth:
            return text[start : sign.end()]
    raise InvalidInput(f"line {line}: < without its >")
