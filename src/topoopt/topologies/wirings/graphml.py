"""GraphML as networkx, yEd and others write it.

It is read by events and not by networkx, whose errors name no line, and which expands entities and accepts nested
graphs and edges without an end. Here a mistake has its line, entities are refused, and a large file needs no tree.
"""

from typing import Any
from xml.parsers import expat

from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink, ForeignNode, node_name

SYNTAX = "GraphML"
_NUMBERS = {"int": int, "long": int, "float": float, "double": float}
_NODE_LABEL = "NodeLabel"  # where yEd keeps what it shows


def graphml_graph(text: str) -> ForeignGraph:
    """Return the graph of a GraphML file.

    Raises
    ------
    InvalidInput
        With the line, for XML that is broken or declares entities, another root than ``graphml``, several graphs or
        nested ones, hyperedges, an edge without an end, and edges of which some are directed.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise InvalidInput(f"line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
    if not reader.graphs:
        raise InvalidInput("holds no graph; expected GraphML with nodes and edges")
    return ForeignGraph(
        SYNTAX, tuple(reader.nodes), tuple(reader.links), reader.directed, reader.graph_says, all_named=True
    )


class _Reader:
    """What was read so far, and of which element the text between tags is."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._refuse_entities
        self.parser.buffer_text = True
        self.graphs = 0
        self.directed = False
        self.graph_says: dict[str, Any] = {}
        self.nodes: list[ForeignNode] = []
        self.links: list[ForeignLink] = []
        self._keys: dict[str, tuple[str, str]] = {}  # by id: name and type
        self._usual: dict[str, dict[str, Any]] = {}  # by what they are for: attributes that are not said
        self._open: list[str] = []
        self._says: list[dict[str, Any]] = []  # of the graph, and of the node or edge that is open
        self._key: tuple[str, str, str] = ("", "", "")  # the open key: what for, name, type
        self._name = ""
        self._text: list[str] = []

    def _place(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def _start(self, tag: str, has: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if not self._open and kind != "graphml":
            raise InvalidInput(f"{self._place()}: expected GraphML, got XML of {shown(kind)}; write GraphML")
        if kind == "hyperedge":
            raise InvalidInput(f"{self._place()}: a hyperedge joins more than two; write an edge a cable")
        opened = getattr(self, f"_start_{kind}", None) if kind in ("key", "graph", "node", "edge") else None
        if opened is not None:
            opened(has)
        elif kind == "data":
            self._name, self._text = has.get("key", ""), []
        elif kind in ("default", _NODE_LABEL):
            self._text = []
        self._open.append(kind)

    def _start_key(self, has: dict[str, str]) -> None:
        name, kind = has.get("attr.name", has.get("id", "")), has.get("attr.type", "string")
        self._keys[has.get("id", "")] = name, kind
        self._key = has.get("for", "all"), name, kind

    def _start_graph(self, has: dict[str, str]) -> None:
        self.graphs += 1
        if self.graphs > 1:
            raise InvalidInput(f"{self._place()}: a second graph; expected one, without graphs inside nodes")
        self.directed = has.get("edgedefault") == "directed"
        self._says.append(self.graph_says)

    def _start_node(self, has: dict[str, str]) -> None:
        says = {**self._usual.get("all", {}), **self._usual.get("node", {})}
        self._says.append(says)
        self.nodes.append(ForeignNode(self._place(), node_name(has.get("id"), self._place()), says))

    def _start_edge(self, has: dict[str, str]) -> None:
        place = self._place()
        for end in ("source", "target"):
            if end not in has:
                raise InvalidInput(f"{place}: an edge without {end}; give both ends")
        if has.get("directed", str(self.directed).lower()) != str(self.directed).lower():
            usual = "directed" if self.directed else "undirected"
            raise InvalidInput(
                f"{place}: directed={shown(has['directed'])} in a graph whose edges are {usual}; write all alike"
            )
        says: dict[str, Any] = {**self._usual.get("all", {}), **self._usual.get("edge", {})}
        says |= {f"{end}_port": has[f"{end}port"] for end in ("source", "target") if f"{end}port" in has}
        self._says.append(says)
        self.links.append(
            ForeignLink(place, (node_name(has["source"], place), node_name(has["target"], place)), says)
        )

    def _end(self, tag: str) -> None:
        kind = self._open.pop()
        text = "".join(self._text).strip()
        if kind == "data" and self._says:
            name, typed = self._keys.get(self._name, (self._name, "string"))
            if text:
                self._says[-1][name] = self._value(text, typed)
        elif kind == _NODE_LABEL and self._says:
            self._says[-1]["label"] = text
            self._text = []
        elif kind == "default" and text:
            wanted, name, typed = self._key
            self._usual.setdefault(wanted, {})[name] = self._value(text, typed)
        elif kind in ("graph", "node", "edge"):
            self._says.pop()

    def _value(self, text: str, typed: str) -> Any:
        if typed == "boolean":
            return text.lower() in ("true", "1")
        try:
            return _NUMBERS[typed](text) if typed in _NUMBERS else text
        except ValueError:
            raise InvalidInput(f"{self._place()}: expected a number ({typed}), got {shown(text)}") from None

    def _characters(self, text: str) -> None:
        self._text.append(text)

    def _refuse_entities(self, *_: object) -> None:
        raise InvalidInput(f"{self._place()}: declares an entity; write the text itself")
