"""Meaning of files: pydantic models that refuse unknown keys, and one-line errors.

Every file that a person writes by hand comes in as plain values (:mod:`topoopt.schema.files.content`) and goes through
:func:`validated` with a model made of :class:`Strict`. A mistake becomes one line of the form ``cluster.yaml:
servers: expected an integer >= 2, got "many"`` (:class:`~topoopt.base.errors.InvalidInput`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from topoopt.base.errors import InvalidInput, decimal_hint, hint, shown
from topoopt.base.limits import LARGEST
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.schema.files.content import Step, dotted

_UNDERSCORED = re.compile(r"\s*[-+]?\d[\d.]*_[\d_.]*(?:[eE][-+]?[\d_]+)?\s*")
_BLANK = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\[\d+\])*(?:\.[A-Za-z_]\w*(?:\[\d+\])*)*(?=: )")
_UNKNOWN = re.compile(r'(?:[\w.\[\]]+: )?unknown key "([^"]+)"')
ModelT = TypeVar("ModelT", bound=BaseModel)
NounT = TypeVar("NounT")
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Number = Annotated[int, Field(ge=1, le=LARGEST)]
Name = Annotated[str, Field(min_length=1)]
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class Strict(BaseModel):
    """A part of a file: unknown keys, and numbers that are not finite, are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)


class EveryKey:
    """Marks a noun within a file: every key is required except those named here; defaults are for Python
    only.

    Examples
    --------
    ``cluster: Annotated[ClusterSpec, EveryKey()]`` in a :class:`Strict` model.
    """

    def __init__(self, *optional: str) -> None:
        self.optional = optional

    def __get_pydantic_core_schema__(self, noun: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the noun without its defaults."""
        schema = handler(noun)
        of_noun: Any = handler.resolve_ref_schema(schema)
        for field in of_noun["schema"]["fields"]:
            if field["name"] not in self.optional and field["schema"]["type"] == "default":
                field["schema"] = field["schema"]["schema"]
        return schema


class OneOf:
    """Marks text in a file that must be one of a few names. The noun itself checks this, too, when it is
    made."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def __get_pydantic_core_schema__(self, text: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


def noun_from(noun: type[NounT], part: object, **others: object) -> NounT:
    """Return a noun from the fields of the same names in a part of a file, or in another noun, and ``others``.

    Fields that neither has keep their defaults.
    """
    names = {field.name for field in fields(noun)} - set(others)  # type: ignore[arg-type] # a dataclass
    return noun(**{name: getattr(part, name) for name in names if hasattr(part, name)}, **others)


def validated(model_class: type[ModelT], mapping: object, place: str) -> ModelT:
    """Return the model of ``mapping``, or raise a one-line error.

    Parameters
    ----------
    model_class
        A :class:`Strict` model, so that a misspelled key is an error.
    mapping
        Result of :func:`~topoopt.schema.files.read_yaml`.
    place
        Prefix of the message: the name of the file.

    Raises
    ------
    InvalidInput
        With the first error: place, key, allowed values, given value.
    """
    if not isinstance(mapping, Mapping):
        what = "an empty file" if mapping is None else shown(mapping)
        raise InvalidInput(f"{place}: expected a mapping of keys to values, got {what}")
    _refuse_truth(model_class, mapping, place)
    try:
        return model_class.model_validate(mapping)
    except ValidationError as error:
        # A misspelled key is often the reason why another one is missing: name it first.
        details = sorted(error.errors(include_url=False), key=lambda item: item["type"] not in _UNKNOWN_KEY)
        detail = details[0]
        loc = detail["loc"]
        schema, known = _schema_at(_json_schema(model_class), loc)
        if detail["type"] in _UNKNOWN_KEY:
            parent = dotted(loc[:-1])
            elsewhere = _elsewhere(_json_schema(model_class), str(loc[-1]))
            remedy = f"it belongs {elsewhere}" if elsewhere else hint(str(loc[-1]), known)
            one_line = f'{place}: {parent}unknown key "{loc[-1]}"; {remedy}'
        elif detail["type"] == "missing":
            remedy = _expected(schema.get("anyOf", [schema])[0], detail)
            remedy = "give a value" if remedy == detail["msg"] else f"expected {remedy}"
            which = f'key "{loc[-1]}"' if isinstance(loc[-1], str) else f"value [{loc[-1]}]"
            one_line = f"{place}: {dotted(loc[:-1])}missing {which}: {remedy}"
        elif detail["type"] == "quantity":
            *outside, key = (
                loc[:-1] if isinstance(loc[-1], int) else loc
            )  # the key also of one value in a list
            one_line = f"{place}: {dotted(outside)}{key}: {detail['msg']}"
        elif detail["type"] == "value_error":
            one_line = f"{place}: {dotted(loc)}{detail['msg'].removeprefix('Value error, ')}"
        else:
            one_line = (
                f"{place}: {dotted(loc)}expected {_expected(schema, detail)}, got {shown(detail['input'])}"
                f"{decimal_hint(detail['input'])}"
            )
        raise InvalidInput(one_line) from None


def _refuse_truth(model_class: type[BaseModel], mapping: Mapping[Any, Any], place: str) -> None:
    """Refuse true, false and "1_0" where a number is expected; pydantic takes them for 1, 0 and 10."""
    pending: list[tuple[tuple[int | str, ...], Any]] = [((), mapping)]
    while pending:
        where, value = pending.pop()
        if isinstance(value, bool) or (isinstance(value, str) and _UNDERSCORED.fullmatch(value)):
            schema, _ = _schema_at(_json_schema(model_class), where)
            kinds = {branch.get("type"): branch for branch in schema.get("anyOf", (schema,))}
            number = kinds.get("integer", kinds.get("number"))
            if number is not None and not kinds.keys() & {"boolean", "string"}:
                expected = _expected(number, None)
                raise InvalidInput(f"{place}: {dotted(where)}expected {expected}, got {shown(value)}")
        inner = (
            value.items()
            if isinstance(value, Mapping)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        pending.extend(
            ((*where, step), one) for step, one in inner if isinstance(one, bool | str | Mapping | list)
        )


def quantity(parse: Callable[[str, str], float]) -> Callable[[object], float]:
    """Return a validator for a pydantic field that parses text with ``parse``, whose second argument is the place."""

    def read(value: object) -> float:
        try:
            return parse(value if isinstance(value, str) else json.dumps(value, default=str), "value")
        except InvalidInput as error:
            message = str(error).removeprefix("value: ")
            raise PydanticCustomError("quantity", "{message}", {"message": message}) from None

    return read


BandwidthText = Annotated[float, BeforeValidator(quantity(parse_bandwidth))]
"""A field of a pydantic model that is written ``100 Gbps`` and read as bits per second."""
TimeText = Annotated[float, BeforeValidator(quantity(parse_time))]
"""A field that is written ``1 us`` and read as seconds."""
_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""Pydantic's error types for an unknown key, in a model and in a noun."""


@cache
def _json_schema(model_class: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model; it takes up to 30 ms, and no caller changes it."""
    return model_class.model_json_schema()


def _elsewhere(root: dict[str, Any], key: str) -> str:
    """Return the one part of a file in which a key would be known, as ``under training``; nothing without one."""
    own = root.get("properties", {})
    parts = [
        name
        for name, part in own.items()
        if key in _resolved(root, part).get("properties", {}) and name != key
    ]
    if key in own:
        return "to the outermost keys"
    return f"under {parts[0]}" if len(parts) == 1 else ""


def _schema_at(root: dict[str, Any], loc: tuple[int | str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON schema at a place, and the keys known where its last step was taken."""
    here, known = root, list(root.get("properties", {}))
    for step in loc:
        here = _resolved(root, here)
        if isinstance(step, int):  # of a list, or of the list that may stand in place of one value
            branches = [*here.get("anyOf", ()), here]
            rows = [branch["prefixItems"] for branch in branches if step < len(branch.get("prefixItems", ()))]
            lists = [branch["items"] for branch in branches if isinstance(branch.get("items"), dict)]
            here = rows[0][step] if rows else lists[0] if lists else {}
            continue
        known = list(here.get("properties", {}))
        inner = here.get("properties", {}).get(step, here.get("additionalProperties"))
        here = inner if isinstance(inner, dict) else {}
    return _resolved(root, here), sorted(known)


def _resolved(root: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _resolved(root, root["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    kinds = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    return _resolved(root, kinds[0]) if len(kinds) == 1 else schema


def _expected(schema: dict[str, Any], detail: ErrorDetails | None) -> str:
    """Return ``an integer >= 2`` from the schema; pydantic's own message where the schema has none."""
    if "enum" in schema:
        return " or ".join(str(value) for value in schema["enum"])
    names = {
        "integer": "an integer",
        "number": "a number",
        "string": "text",
        "boolean": "true or false",
        "array": "a list",
        "object": "a mapping of keys to values",
    }
    limits = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    if schema.get("type") not in names:
        assert detail is not None, "a schema without a type has failed"
        return detail["msg"].removeprefix("Input should be ")
    bounds = [f"{sign} {_plain(schema[limit])}" for limit, sign in limits.items() if limit in schema]
    return " ".join([names[schema["type"]], " and ".join(bounds)]).strip()


def _plain(limit: float) -> str:
    """Return a limit in its shortest exact form: ``1e+12``, ``2147483647``."""
    short = f"{limit:g}"
    return short if float(short) == limit else str(limit)


def with_line(message: str, text: str, place: str) -> str:
    """Return ``place: line N: message`` for a message that begins with a key of the file, else without the line.

    For a missing key, the line is that of the part in which it is missing.

    Parameters
    ----------
    message : str
        Error message, with or without the place in front.
    text : str
        Content of the file: YAML, JSON or TOML.

    Examples
    --------
    >>> with_line("a[1].b: expected text, got 3", "a:\\n- b: x\\n- b: 3", "f.yaml")
    'f.yaml: line 3: a[1].b: expected text, got 3'
    """
    message = message.removeprefix(f"{place}: ")
    steps = _steps(message)
    line = _line_in_toml(text, steps) if place.endswith(".toml") else _line(text, steps)
    return f"{place}: line {line}: {message}" if line and steps else f"{place}: {message}"


def _steps(message: str) -> list[Step]:
    """Return the path to the value that a message is about, such as ``["servers", 3, "name"]``."""
    found, unknown = _PATH.match(message), _UNKNOWN.match(message)
    steps: list[Step] = [name or int(number) for name, number in _STEP.findall(found[0])] if found else []
    return [*steps, unknown[1]] if unknown else steps


def _line(text: str, steps: Sequence[Step]) -> int:
    if not steps:
        return 0
    try:
        return line_in_json(text, steps)
    except ValueError:
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, RecursionError, ValueError):
            return 0
        line = 0
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                inner = [(key, value) for key, value in node.value if getattr(key, "value", None) == step]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                inner = [(node.value[step], node.value[step])]
            else:
                inner = []
            if not inner:
                break
            key, node = inner[0]
            line = key.start_mark.line + 1
        return line


def _line_in_toml(text: str, steps: Sequence[Step]) -> int:
    """Return the line of ``[[servers]]`` for ``servers[3]``, and below it that of its key, or its own."""
    name, place, *keys = (*steps, 0, 0)
    lines = text.splitlines()
    heads = [number for number, row in enumerate(lines) if row.strip().replace(" ", "") == f"[[{name}]]"]
    if not isinstance(place, int) or place >= len(heads):
        own = [number for number, row in enumerate(lines) if re.match(rf"\s*{name}\s*=", row)]
        return own[0] + 1 if own else 0
    for number in range(heads[place] + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if keys and re.match(rf"\s*{keys[0]}\s*=", lines[number]):
            return number + 1
    return heads[place] + 1


def line_in_json(text: str, steps: Sequence[Step]) -> int:
    """Return the line to which some keys and indices lead: of the last that is there, 0 where not even the first is.

    Raises
    ------
    ValueError
        If the text is not JSON, or a single value.
    """
    line, here = 0, _after_blanks(text, 0)
    if text[here : here + 1] not in ("{", "["):
        raise ValueError("no mapping or list of JSON")
    for step in steps:
        found = _inside(text, here, step)
        if found is None:
            break
        begins, here = found
        line = text.count("\n", 0, begins) + 1
    return line


def _inside(text: str, start: int, step: Step) -> tuple[int, int] | None:
    """Return the start of a key and of its value, or twice the start of a list's value, from ``start``."""
    keyed, found = isinstance(step, str), None
    if text[start : start + 1] != ("{" if keyed else "["):
        return None
    here, index = _after_blanks(text, start + 1), 0
    while text[here : here + 1] not in ("]", "}"):
        begins, key = here, step if index == step else None
        if keyed:
            key, here = _DECODER.raw_decode(text, here)
            here = _after_blanks(text, _after_blanks(text, here) + 1)  # the colon
        if key == step:
            found = begins, here  # of a key that stands twice the later value counts
            if not keyed:
                break
        here, index = _after_blanks(text, _DECODER.raw_decode(text, here)[1]), index + 1
        if text[here : here + 1] == ",":
            here = _after_blanks(text, here + 1)
    return found


def _after_blanks(text: str, here: int) -> int:
    blank = _BLANK.match(text, here)
    assert blank is not None
    return blank.end()
