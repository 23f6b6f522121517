"""DOT as Graphviz and networkx write it: statements of nodes and edges, defaults, subgraphs and ports.

Its grammar [1]_ is small and is parsed here: pydot keeps no lines, reads no more than this, and would be one more
thing to install.

References
----------
.. [1] "DOT Language", Graphviz documentation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink, ForeignNode, node_name

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


SYNTAX = "DOT"
_DEEPEST = 50
_End = tuple[str, str]
"""A node, and the port of it that an edge is at: empty where none is named."""


def dot_graph(text: str) -> ForeignGraph:
    """Return the graph of a DOT file.

    Raises
    ------
    InvalidInput
        With the line, if it is not DOT, or an edge is of the other kind than its graph.
    """
    reader = _Reader(list(dot_tokens(text)))
    reader.read_graph()
    listed = tuple(ForeignNode(place, name, says) for name, (place, says) in reader.nodes.items())
    stated = listed if len(reader.stated) == len(listed) else ()
    return ForeignGraph(
        SYNTAX,
        stated or tuple(node for node in listed if node.name in reader.stated or node.says),
        tuple(reader.links),
        reader.directed,
        reader.graph_says,
        all_named=bool(stated),
    )


@dataclass(slots=True)
class _Usual:
    """Default attributes of nodes and edges in a graph or subgraph."""

    node: dict[str, Any] = field(default_factory=dict)
    edge: dict[str, Any] = field(default_factory=dict)


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.directed = False
        self.strict = False
        self.graph_says: dict[str, Any] = {}
        self.nodes: dict[str, tuple[str, dict[str, Any]]] = {}  # by name: place and attributes
        self.stated: set[str] = set()  # nodes with a statement of their own
        self.links: list[ForeignLink] = []
        self._joined: set[tuple[str, str]] = set()

    def read_graph(self) -> None:
        """Read the whole file."""
        self.strict = self._took_word("strict")
        kind = self._next("graph or digraph")
        if kind.sign or kind.text.lower() not in ("graph", "digraph"):
            raise InvalidInput(f"line {kind.line}: expected graph or digraph, got {shown(kind.text)}")
        self.directed = kind.text.lower() == "digraph"
        if not self._is_sign("{"):
            self._next("{")
        self._expect("{")
        self._statements(_Usual(), 0)
        if self.at < len(self.tokens):
            more = self.tokens[self.at]
            raise InvalidInput(f"line {more.line}: {shown(more.text)} behind the graph; a file holds one")

    def _statements(self, usual: _Usual, depth: int) -> list[_End]:
        """Read statements up to the closing brace; return the nodes that they name."""
        named: dict[_End, None] = {}
        while not self._took("}"):
            if not self._took(";"):
                named.update(dict.fromkeys(self._statement(usual, depth)))
        return list(named)

    def _statement(self, usual: _Usual, depth: int) -> list[_End]:
        here = self._peek("}")
        word = "" if here.sign or here.quoted else here.text.lower()
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else here
        if word in ("graph", "node", "edge") and after.sign and after.text == "[":
            self.at += 1
            target = {"graph": self.graph_says if not depth else {}, "node": usual.node, "edge": usual.edge}[
                word
            ]
            target.update(self._attributes())
            return []
        if not here.sign and after.sign and after.text == "=":
            self.at += 2
            value = self._next("a value").text
            if not depth:
                self.graph_says[here.text] = value
            return []
        return self._edges(usual, depth)

    def _edges(self, usual: _Usual, depth: int) -> list[_End]:
        """Parse a node, or a chain of edges; a subgraph represents its nodes."""
        first = self._peek("a node")
        groups = [self._ends(usual, depth)]
        lines = [first.line]
        while self._is_sign("--") or self._is_sign("->"):
            sign = self._next("an edge")
            if (sign.text == "->") != self.directed:
                right = "->" if self.directed else "--"
                raise InvalidInput(f"line {sign.line}: {sign.text} in a {self._kind()}; write {right}")
            lines.append(sign.line)
            groups.append(self._ends(usual, depth))
        is_node = (
            len(groups) == 1 and len(groups[0]) == 1 and not first.sign and first.text.lower() != "subgraph"
        )
        says = self._attributes() if self._is_sign("[") else {}
        if is_node:
            name = groups[0][0][0]
            self.nodes[name][1].update(says)
            self.stated.add(name)
        for (tails, heads), line in zip(pairwise(groups), lines[1:], strict=True):
            for a in tails:
                for b in heads:
                    self._join(a, b, line, {**usual.edge, **says})
        return [end for group in groups for end in group]

    def _ends(self, usual: _Usual, depth: int) -> list[_End]:
        here = self._peek("a node")
        if self._took_word("subgraph") and not self._is_sign("{"):
            self._next("{")
        if self._is_sign("{"):
            if depth >= _DEEPEST:
                raise InvalidInput(f"line {here.line}: subgraphs nested too deeply")
            self._expect("{")
            return self._statements(_Usual(dict(usual.node), dict(usual.edge)), depth + 1)
        token = self._next("a node")
        if token.sign:
            raise InvalidInput(f"line {token.line}: expected a node, got {shown(token.text)}")
        name = node_name(token.text, f"line {token.line}")
        if name not in self.nodes:
            self.nodes[name] = f"line {token.line}", dict(usual.node)
        port = ""
        while self._took(":"):  # a port, and which side of the node it is drawn on
            port = port or self._next("a port").text
        return [(name, port)]

    def _join(self, a: _End, b: _End, line: int, says: dict[str, Any]) -> None:
        pair = (a[0], b[0]) if self.directed else (min(a[0], b[0]), max(a[0], b[0]))
        if self.strict and pair in self._joined:
            return
        self._joined.add(pair)
        ports = {f"{end}_port": port for end, (_, port) in (("source", a), ("target", b)) if port}
        self.links.append(ForeignLink(f"line {line}", (a[0], b[0]), {**ports, **says}))

    def _attributes(self) -> dict[str, Any]:
        return dict(self._attribute_pairs())

    def _attribute_pairs(self) -> Iterator[tuple[str, Any]]:
        while self._took("["):
            while not self._took("]"):
                if self._took(",") or self._took(";"):
                    continue
                name = self._next("]")
                if name.sign:
                    raise InvalidInput(f"line {name.line}: expected an attribute, got {shown(name.text)}")
                yield name.text, self._next("a value").text if self._took("=") else "true"

    def _kind(self) -> str:
        return "digraph" if self.directed else "graph"

    def _peek(self, wanted: str) -> Token:
        if self.at >= len(self.tokens):
            last = self.tokens[-1].line if self.tokens else 1
            raise InvalidInput(f"line {last}: ends too early; expected {wanted}")
        return self.tokens[self.at]

    def _next(self, wanted: str) -> Token:
        token = self._peek(wanted)
        self.at += 1
        return token

    def _is_sign(self, sign: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].sign and self.tokens[self.at].text == sign

    def _took(self, sign: str) -> bool:
        found = self._is_sign(sign)
        self.at += found
        return found

    def _took_word(self, word: str) -> bool:
        here = self._peek(word)
        found = not here.sign and not here.quoted and here.text.lower() == word
        self.at += found
        return found

    def _expect(self, sign: str) -> None:
        token = self._next(sign)
        if not token.sign or token.text != sign:
            raise InvalidInput(f"line {token.line}: expected {sign}, got {shown(token.text)}")


def dot_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a DOT file, without comments; quoted parts joined by + are merged.

    Raises
    ------
    InvalidInput
        With the line, for invalid DOT syntax, or unterminated quotes or brackets.
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
    """Return an HTML label between < and >, which may hold tags."""
    depth = 0
    for sign in re.compile("[<>]").finditer(text, start):
        depth += 1 if sign[0] == "<" else -1
        if not depth:
            return text[start : sign.end()]
    raise InvalidInput(f"line {line}: < without its >")
