"""A trace is checked when it is made, read and written."""

import csv
import re
from math import ceil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.published_schemas import published
from topoopt.base.errors import InvalidInput
from topoopt.clusters import Trace, TraceJob, read_trace, write_trace

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "trace.csv"
HEADER = "id,model,servers,arrival_s,iterations"


def job(name: str = "a", **changes: Any) -> TraceJob:
    plain = {"job": name, "model": "dlrm", "servers": 4, "arrival_s": 0.0, "iterations": 1.0}
    return TraceJob(**{**plain, **changes})


def test_jobs_are_in_order_of_arrival() -> None:
    trace = Trace("t", (job("late", arrival_s=5.0), job("first"), job("second")))
    assert [each.job for each in trace.jobs] == ["first", "second", "late"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"servers": 0}, "job a: servers: expected an integer >= 1, got 0"),
        ({"arrival_s": -1.0}, "job a: arrival_s: expected seconds >= 0, got -1"),
        ({"iterations": 0.0}, "job a: give either iterations or duration_s"),
        ({"duration_s": 5.0}, "job a: give either iterations or duration_s"),
        ({"iterations": float("nan")}, "job a: iterations: expected a number > 0, got nan"),
        ({"min_servers": 5}, r"job a: min_servers: expected 1 .. 4 \(its servers\), got 5"),
        ({"max_servers": 3}, r"job a: max_servers: expected at least 4 \(its servers\), got 3"),
        ({"batch_per_accelerator": -1}, "job a: batch_per_accelerator: expected an integer >= 1, got -1"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        job(**changes)


def test_a_trace_needs_jobs_with_ids_of_their_own() -> None:
    with pytest.raises(InvalidInput, match="t: expected at least one job, got none"):
        Trace("t", ())
    with pytest.raises(InvalidInput, match='t: id: "a" stands twice'):
        Trace("t", (job(), job()))


MISTAKES = [
    ("", "expected a header row and a row for each job, got an empty file"),
    (f"{HEADER}\n", "expected a header row and a row for each job, got the header alone"),
    (
        "id,model,servers,arrival_s,duration_s\na,dlrm,4,0,5e-324\n",
        "line 2: job a: duration_s: expected at least 1e-09, got 4.94066e-324",
    ),
    (
        "id,model,servers,arrival_s,iteration\na,dlrm,4,0,1\n",
        'column 5: unknown name "iteration"; did you mean iterations',
    ),
    ("id,model,servers,iterations\na,dlrm,4,1\n", 'missing column "arrival_s"'),
    ("id,id,model,servers,arrival_s\na,a,dlrm,4,0\n", 'column 2: "id" stands twice'),
    (f"{HEADER}\na,dlrm,4,0\n", "line 2: expected 5 cells as in the header, got 4"),
    (
        f"{HEADER}\na,dlrm,4,0,1\n\nb,dlrm,many,0,1\n",
        'line 4: servers: expected an integer >= 1 and <= 1e+06, got "many"',
    ),
    (f"{HEADER}\na,dlrm,4,-5,1\n", 'line 2: arrival_s: expected a number >= 0 and <= 1e+12, got "-5"'),
    (f"{HEADER}\na,dlrm,4,nan,1\n", "line 2: arrival_s: expected a number"),
    (f"{HEADER}\na,dlrm,4,0,\n", "line 2: give either iterations or duration_s, got neither"),
    (f"{HEADER},duration_s\na,dlrm,4,0,1,1\n", "line 2: give either iterations or duration_s, got both"),
    (f"{HEADER}\na,dlrm,4,0,1000.5\n", "line 2: iterations: expected a whole number, got 1000.5"),
    (f"{HEADER}\na,dlmr,4,0,1\n", 'line 2: model: unknown name "dlmr"; did you mean dlrm'),
    (f"{HEADER}\na,dlrm,4,0,1\nb,dlrm,4,0,1\na,dlrm,4,9,1\n", 'line 4: id: "a" is the id of line 2, too'),
    (f"{HEADER},min_servers\na,dlrm,4,0,1,8\n", "line 2: min_servers must be at most servers, got 8 > 4"),
    (f"{HEADER},max_servers\na,dlrm,4,0,1,2\n", "line 2: max_servers must be at least servers, got 2 < 4"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(f"{path}: {message}")) as found:
        read_trace(path)
    assert "\n" not in str(found.value)


NUMBERS = st.floats(1e-6, 1e9)
TRACE_JOBS = st.lists(
    st.builds(
        lambda servers, at_s, iterations, work, shrink, grow, batch: {
            "servers": servers,
            "arrival_s": at_s,
            "iterations": float(ceil(work)) if iterations else 0.0,
            "duration_s": 0.0 if iterations else work,
            "min_servers": 2 if shrink else 0,
            "max_servers": 2 * servers if grow else 0,
            "batch_per_accelerator": batch,
        },
        st.integers(2, 64),
        NUMBERS,
        st.booleans(),
        NUMBERS,
        st.booleans(),
        st.booleans(),
        st.integers(0, 512),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(rows=TRACE_JOBS)
def test_what_is_written_is_read(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.csv"
    trace = Trace(path.name, tuple(job(f"job {i}", **row) for i, row in enumerate(rows)))
    write_trace(path, trace)
    assert read_trace(path) == trace


def test_the_example_is_a_trace_and_follows_the_schema() -> None:
    trace = read_trace(EXAMPLE)
    assert any(len(each.sizes) > 1 for each in trace.jobs)
    assert {each.duration_s > 0 for each in trace.jobs} == {True, False}
    for row in csv.DictReader(EXAMPLE.read_text().splitlines()):
        numbers = {key: _number(cell) for key, cell in row.items() if cell}
        jsonschema.validate(numbers, published("trace"))


def test_the_schema_refuses_a_job_without_servers() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"id": "a", "model": "dlrm", "servers": 0, "arrival_s": 0}, published("trace"))


def _number(cell: str) -> object:
    try:
        return int(cell)
    except ValueError:
        return cell
