"""Reader of archives of torch.export (.pt2) as tensor programs, without PyTorch and without unpickling anything.

References
----------
.. [1] github.com/pytorch/pytorch, ``torch/_export/serde/schema.py``: the JSON of a program; and
   ``torch/export/pt2_archive/constants.py``: its place in the archive.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST, whole
from topoopt.schema.files import decoded, decoding, parse_json, zip_entry
from topoopt.workloads.programs.tensor_program import ProgramNode, Tensor, TensorProgram, checked_tensor

MODELS = ("models/model.json", "serialized_exported_program.json")
"""Path of the program since PyTorch 2.7, and before, below a folder with the name of the file."""
DTYPE_BYTES = {
    **dict.fromkeys((1, 2, 12, 29, 30, 31, 32, 33), 1),
    **dict.fromkeys((3, 6, 13, 28), 2),
    **dict.fromkeys((4, 7, 9, 34), 4),
    **dict.fromkeys((5, 8, 10, 35), 8),
    11: 16,
}
"""Bytes per element by the number of a type in the file."""
FLOATING_DTYPES = (6, 7, 8, 9, 10, 11, 13, 29, 30, 31, 32, 33)
_SAVED = "write it again with torch.export.save"


class _Reader:
    """The graph of a program and its signature."""

    def __init__(self, path: str, graph: Mapping[str, Any], signature: Mapping[str, Any]) -> None:
        self.path = path
        self.graph = graph
        self.specs, self.results = (
            self._specs(signature, "input_specs"),
            self._specs(signature, "output_specs"),
        )

    def program(self) -> TensorProgram:
        """Return all of it."""
        tensors, nodes = {}, []
        for name, meta in _part(self.graph, "tensor_values", dict, f"{self.path}: graph").items():
            with _reading(f"{self.path}: tensor_values.{name}"):
                tensors[name] = self._tensor(name, meta)
        for place, row in enumerate(_part(self.graph, "nodes", list, f"{self.path}: graph")):
            with _reading(f"{self.path}: nodes[{place}]"):
                nodes.extend(self._node(row))
        with _reading(f"{self.path}: signature"):
            parameters = {
                spec["arg"]["name"]: str(spec["parameter_name"])
                for kind, spec in self.specs
                if kind == "parameter"
            }
            given = [spec["arg"] for kind, spec in self.specs if kind == "user_input"]
            made = [spec["arg"] for kind, spec in self.results if kind == "user_output"]
            data = tuple(name for argument in given for name in _tensor_names(argument))
            results = tuple(name for argument in made for name in _tensor_names(argument))
        read = (name for node in nodes for name in node.inputs if name)
        strange = next((name for name in (*parameters, *data, *results, *read) if name not in tensors), None)
        if strange is not None:
            raise InvalidInput(f"{self.path}: {strange}: a tensor that tensor_values does not list; {_SAVED}")
        what = "a program of torch.export"
        return TensorProgram(what, self.path, tensors, parameters, data, results, tuple(nodes))

    def _specs(self, signature: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
        rows = _part(signature, key, list, f"{self.path}: signature")
        with _reading(f"{self.path}: signature.{key}"):
            return [(kind, spec) for row in rows for kind, spec in row.items()]

    def _tensor(self, name: str, meta: Mapping[str, Any]) -> Tensor:
        number = whole(f"{self.path}: {name}: dtype", meta["dtype"])
        if number not in DTYPE_BYTES:
            raise InvalidInput(f"{self.path}: {name}: numbers of type {shown(number)} are not known")
        shape = tuple(self._size(name, size) for size in meta["sizes"])
        return checked_tensor(f"{self.path}: {name}", shape, DTYPE_BYTES[number], number in FLOATING_DTYPES)

    def _size(self, name: str, size: Mapping[str, Any]) -> int:
        if "as_int" in size:
            return whole(f"{self.path}: {name}: sizes", size["as_int"], 0, LARGEST)
        hint = (size.get("as_expr") or {}).get("hint") or {}
        if "as_int" not in hint:
            raise InvalidInput(
                f"{self.path}: {name}: a dimension has no size, {shown(size)}; export with an example of a fixed size"
            )
        return whole(f"{self.path}: {name}: sizes", hint["as_int"], 0, LARGEST)

    def _node(self, row: Mapping[str, Any]) -> list[ProgramNode]:
        outputs = tuple(name for argument in row["outputs"] for name in _tensor_names(argument))
        if not outputs:
            return []  # a size, or an assertion about one
        inputs: list[str] = []
        attributes: dict[str, Any] = {}
        for argument in row["inputs"]:
            names = _tensor_names(argument["arg"])
            if names or "as_none" in argument["arg"]:
                inputs.extend(names or ("",))
            else:
                place = f"{self.path}: {argument['name']}"
                attributes[argument["name"]] = _torch_export_plain(argument["arg"], place)
        operator = str(row["target"]).removeprefix("torch.ops.")
        operator = operator.rsplit(".", 1)[0] if operator.count(".") > 1 else operator
        # the module that calls an operator, as the model has it; the name in the graph where nothing says it
        stack = str((row.get("metadata") or {}).get("nn_module_stack", ""))
        path = stack.rsplit(";", 1)[-1].split(",")[1] if stack.count(",") > 1 else ""
        own = next((name for output in row["outputs"] for name in _tensor_names(output)), "")
        label = path or str(row.get("name") or own)
        return [ProgramNode(operator, label, tuple(inputs), outputs, attributes)]


def read_exported(path: str) -> TensorProgram:
    """Return the program of a file that ``torch.export.save`` wrote.

    Dimensions that are not fixed have the size that the program was exported with.

    Raises
    ------
    InvalidInput
        If the file is no such archive, is cut short, or a shape is not known.
    """
    data = zip_entry(path, MODELS, "archive of torch.export", _SAVED)
    content = parse_json(decoded(data, path), path, foreign=True)
    with decoding(path, "no program of torch.export that is known here", _SAVED):
        module = _part(content, "graph_module", dict, path)
        graph, signature = (
            _part(module, key, dict, f"{path}: graph_module") for key in ("graph", "signature")
        )
        return _Reader(path, graph, signature).program()


def _part(content: Any, key: str, kind: type, place: str) -> Any:
    """Return the value of a key, if it is of this type."""
    expected = "a mapping" if kind is dict else "a list"
    if not isinstance(content, dict):
        raise InvalidInput(f"{place}: expected a mapping with {key}, got {shown(content)}; {_SAVED}")
    value = content.get(key)
    if not isinstance(value, kind):
        got = shown(value) if key in content else "none"
        raise InvalidInput(f"{place}: {key}: expected {expected}, got {got}; {_SAVED}")
    return value


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """Raise one line where a part has other keys or types than ``torch.export.save`` writes."""
    try:
        yield
    except KeyError as error:
        raise InvalidInput(f"{place}: the key {error.args[0]} is missing; {_SAVED}") from None
    except (TypeError, AttributeError, ValueError, IndexError):
        raise InvalidInput(
            f"{place}: expected mappings and lists as torch.export has them; {_SAVED}"
        ) from None


def _tensor_names(argument: Mapping[str, Any]) -> tuple[str, ...]:
    for kind, value in argument.items():
        if kind == "as_tensor":
            return (str(value["name"]),)
        if kind == "as_tensors":
            return tuple(str(one["name"]) for one in value)
        if kind == "as_optional_tensors":
            return tuple(str(one["as_tensor"]["name"]) if "as_tensor" in one else "" for one in value)
        if kind == "as_optional_tensor":
            return _tensor_names(value) or ("",)
    return ()


def _torch_export_plain(argument: Mapping[str, Any], place: str) -> Any:
    """Return the value of an argument that is no tensor; a list of sizes without variable ones."""
    for kind, value in argument.items():
        for number in value if kind == "as_ints" else [value] if kind == "as_int" else []:
            whole(place, number, -LARGEST, LARGEST)
        if kind == "as_sym_ints":
            return [one.get("as_int") for one in value]
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return None
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return None
