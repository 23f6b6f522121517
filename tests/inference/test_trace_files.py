"""Traces come in as Mooncake, Azure and we write them; what is wrong is one line with its place."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.inference import read_requests

MOONCAKE = """\
{"timestamp": 27482, "input_length": 1300, "output_length": 52, "hash_ids": [46, 47, 2353]}
{"timestamp": 30535, "input_length": 600, "output_length": 26, "hash_ids": [46, 48]}
"""
AZURE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
"""
OWN = """\
arrival_s,input_tokens,output_tokens,blocks
5,1024,7,1 2
5.5,10,1,
"""


def written(folder: Path, text: str) -> str:
    path = folder / "trace"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_mooncake_has_milliseconds_and_blocks_of_which_whole_ones_count(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, MOONCAKE))
    assert found.arrival_s.tolist() == pytest.approx([0, 3.053])
    assert found.input_tokens.tolist() == [1300, 600]
    assert found.block_first.tolist() == [0, 2, 3]
    assert found.blocks.tolist() == [46, 47, 46]


def test_azure_has_dates(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, AZURE))
    assert found.arrival_s.tolist() == pytest.approx([0, 0.052], abs=1e-6)
    assert found.output_tokens.tolist() == [10, 8]


def test_azure_of_2024_has_a_time_zone(tmp_path: Path) -> None:
    text = AZURE.replace("03.9799600", "03.979960+00:00").replace("04.0319600", "05.979960+00:00")
    assert read_requests(written(tmp_path, text)).arrival_s.tolist() == pytest.approx([0, 2])


def test_our_own_has_seconds(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, OWN))
    assert found.arrival_s.tolist() == [0, 0.5]
    assert found.blocks.tolist() == [1, 2]
    assert found.rate_per_s == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MOONCAKE.replace("30535", "20000"),
            "line 2: comes 7.482 s before the line above; sort the trace by time",
        ),
        (MOONCAKE.replace("600,", "0,"), "line 2: input_length: expected tokens from 1 to 10,000,000, got 0"),
        (MOONCAKE.replace('"output_length": 26, ', ""), "line 2: output_length is missing"),
        (MOONCAKE.replace("[46, 48]", '["x"]'), "line 2: hash_ids: expected integers >= 0"),
        (MOONCAKE + "{\n", "line 3: not JSON; expected one request a line"),
        (AZURE.replace("2023-11-16 18:17:04", "soon"), "line 3: TIMESTAMP: expected a date and time"),
        (AZURE.replace(",8\n", ",8,9\n"), "line 3: more values than columns"),
        (OWN.replace("5.5", "nan"), "line 3: arrival_s: expected a number >= 0"),
        ("a,b\n1,2\n", "line 1: expected columns arrival_s, input_tokens, output_tokens, or TIMESTAMP"),
        ("arrival_s,input_tokens,output_tokens\n", "holds no request"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_requests(written(tmp_path, text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
