"""Counter files: counters and rates of several links as curves, and mistakes with their line."""

from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import read_counters, write_counters


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "counters.csv"
    path.write_text(text)
    return path


def test_counters_begin_at_nothing_and_end_at_what_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    write_counters(path, [(0.5, "0-1", 100.0), (0.5, "1-0", 7), (1.0, "0-1", 400.0), (1.0, "1-0", 7),
                          (2.0, "0-1", 500.0), (2.0, "1-0", 9)])  # fmt: skip
    curves = read_counters(path)
    assert list(curves) == ["0-1", "1-0"]
    np.testing.assert_array_equal(curves["0-1"].times_s, [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(curves["0-1"].sent_bytes, [0, 300, 400])
    np.testing.assert_array_equal(curves["0-1"].rates_bps, [300 * 8 / 0.5, 800])


def test_a_rate_holds_until_the_next_row(tmp_path: Path) -> None:
    (curve,) = read_counters(written(tmp_path, "rate_gbps,time_ms\n0,0\n8,10\n\n4,20\n0,40\n")).values()
    np.testing.assert_allclose(curve.times_s, [0, 0.01, 0.02, 0.04, 0.06])
    np.testing.assert_allclose(curve.sent_bytes, [0, 0, 1e7, 2e7, 2e7])


def test_a_counter_of_32_bits_begins_again(tmp_path: Path) -> None:
    path = written(tmp_path, f"time_s,sent_bytes\n0,{2**32 - 100}\n1,{2**32 - 50}\n2,50\n")
    (curve,) = read_counters(path).values()
    np.testing.assert_array_equal(curve.sent_bytes, [0, 50, 150])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a header row such as time_s,sent_bytes, got an empty file"),
        ("time_s,sent_bytes\n", "expected a header row such as time_s,sent_bytes, got the header alone"),
        ("time_s,bytes\n1,2\n", 'column 2: unknown name "bytes"; did you mean'),
        ("time_s,time_s\n1,2\n", 'column 2: "time_s" stands twice'),
        ("time_s,link\n1,2\n", "expected one column of sent_bytes, rate_bps, rate_mbps, rate_gbps, got none"),
        (
            "time_s,time_ms,sent_bytes\n1,2,3\n",
            "expected one column of time_s, time_ms, time_us, got time_s and",
        ),
        ("time_s,sent_bytes\n1\n", "line 2: expected 2 cells as in the header, got 1"),
        ("time_s,sent_bytes\n1,many\n", 'line 2: sent_bytes: expected a number >= 0, got "many"'),
        ("time_s,sent_bytes\n1,-1\n", "line 2: sent_bytes: expected a number >= 0"),
        ("time_s,sent_bytes\nnan,1\n", "line 2: time_s: expected a number, got"),
        ("time_s,sent_bytes\n0,1\n1,2\n", "expected at least 3 rows, got 2; measure longer"),
        ("time_s,link,sent_bytes\n0,a,1\n1,a,2\n2,b,2\n", "expected at least 3 rows of link a, got 2"),
        ("time_s,sent_bytes\n0,1\n2,2\n2,3\n", "line 4: time does not ascend; sort the rows by time"),
        ("time_s,sent_bytes\n0,1\n2,5\n3,3\n", "line 4: sent_bytes falls; a counter only grows"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InvalidInput) as caught:
        read_counters(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
