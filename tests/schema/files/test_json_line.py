"""Lines of JSON values, against where a writer puts each of them."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.schema.files import with_line
from topoopt.schema.files.model import line_in_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def places(value: object, where: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    rows = [where]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        rows += places(inner, (*where, step))
    return rows


@settings(max_examples=30)
@given(st.lists(values) | st.dictionaries(st.text(), values))
def test_values_stand_on_the_lines_on_which_they_are_written(value: object) -> None:
    """With an indent every value begins a line, in the order in which they are met, but for brackets that close."""
    text = json.dumps(value, indent=1)
    begins = [number for number, row in enumerate(text.splitlines(), 1) if row.strip(" ,") not in ("]", "}")]
    first, *others = places(value)
    assert first == ()
    assert [line_in_json(text, where) for where in others] == begins[1:]


def test_where_nothing_is_the_last_step_that_leads_somewhere_counts() -> None:
    text = '{"a":\n[1,\n{"b": 2}]}'
    for where, line in ((("a", 1, "c"), 3), (("a", 7), 1), (("a", "b"), 1), (("x",), 0), ((0,), 0), ((), 0)):
        assert line_in_json(text, where) == line


def test_of_a_key_that_stands_twice_the_later_value_counts() -> None:
    assert json.loads('{"a": 1,\n"a": 2}') == {"a": 2}
    assert with_line("a: even", '{"a": 1,\n"a": 2}', "f.json") == "f.json: line 2: a: even"
