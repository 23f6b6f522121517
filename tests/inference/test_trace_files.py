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
BAILIAN = """\
{"chat_id": 1, "parent_chat_id": -1, "timestamp": 8.9, "input_length": 40, "output_length": 52, "type": "text", \
"turn": 1, "hash_ids": [7, 8]}
{"chat_id": 2, "parent_chat_id": 1, "timestamp": 10.9, "input_length": 32, "output_length": 5, "type": "text", \
"turn": 2, "hash_ids": [7, 9]}
"""
BURSTGPT = """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,10,482,Conversation log
6,ChatGPT,1087,0,1087,Conversation log
45,GPT-4,20,1,21,API log
"""


def written(folder: Path, text: str) -> str:
    path = folder / "trace"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_mooncake_has_milliseconds_and_blocks_of_which_whole_ones_count(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, MOONCAKE)).requests
    assert found.arrival_s.tolist() == pytest.approx([0, 3.053])
    assert found.input_tokens.tolist() == [1300, 600]
    assert found.block_first.tolist() == [0, 2, 3]
    assert found.blocks.tolist() == [46, 47, 46]


def test_azure_has_dates(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, AZURE)).requests
    assert found.arrival_s.tolist() == pytest.approx([0, 0.052], abs=1e-6)
    assert found.output_tokens.tolist() == [10, 8]


def test_azure_of_2024_has_a_time_zone(tmp_path: Path) -> None:
    text = AZURE.replace("03.9799600", "03.979960+00:00").replace("04.0319600", "05.979960+00:00")
    assert read_requests(written(tmp_path, text)).requests.arrival_s.tolist() == pytest.approx([0, 2])


def test_our_own_has_seconds(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, OWN)).requests
    assert found.arrival_s.tolist() == [0, 0.5]
    assert found.blocks.tolist() == [1, 2]
    assert found.rate_per_s == 2


def test_bailian_has_seconds_and_blocks_of_16_tokens(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, BAILIAN))
    assert found.requests.arrival_s.tolist() == [0, 2]
    assert found.requests.blocks.tolist() == [7, 8, 7, 9]
    assert found.requests.block_tokens == 16
    assert str(found).endswith("(Bailian's format: 2 s, 0.5/s, blocks of 16 tokens)")
    assert found.to_json() == {
        "file": found.path, "format": "bailian", "requests": 2, "span_s": 2.0, "rate_per_s": 0.5, "block_tokens": 16,
        "failed": 0,
    }  # fmt: skip


def test_a_public_trace_of_bailian_has_its_rate() -> None:
    """Forty requests drawn in the public format of Alibaba's Bailian; values by hand: 39 intervals in 65.513 s."""
    found = read_requests(str(Path(__file__).parent / "data" / "bailian_text.jsonl"))
    assert len(found.requests) == 40
    assert found.span_s == pytest.approx(65.513)
    assert found.requests.rate_per_s == pytest.approx(39 / 65.513)


def test_failures_of_burstgpt_are_left_out_and_counted(tmp_path: Path) -> None:
    found = read_requests(written(tmp_path, BURSTGPT))
    assert found.requests.arrival_s.tolist() == [0, 40]
    assert found.failed == 1
    assert "1 without an answer left out" in str(found)


@pytest.mark.parametrize(
    ("columns", "span_s"),
    [("arrival_s=at", 2000), ("arrival_ms=at", 2)],
)
def test_columns_may_have_other_names_and_be_among_others(
    tmp_path: Path, columns: str, span_s: float
) -> None:
    said = f"{columns},input_tokens=in,output_tokens=out,blocks=ids,block_tokens=16"
    for text in ("at;user;in;out;ids\n0;x;33;1;3 4\n2000;y;5;1;\n", '{"at": 0, "in": 33, "out": 1, "ids": [3, 4]}\n'
                 '{"at": 2000, "in": 5, "out": 1, "user": "y"}\n'):  # fmt: skip
        found = read_requests(written(tmp_path, text), said)
        assert found.span_s == span_s
        assert found.requests.blocks.tolist() == [3, 4]
        assert found.to_json()["format"] == "columns"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("philly", 'columns: unknown name "philly"'),
        ("arrival=a", 'columns: unknown name "arrival"; did you mean arrival_'),
        ("arrival_s=a,arrival_s=b", 'columns: arrival_s: expected one column, got "arrival_s=b"'),
        (
            "arrival_s=a,arrival_ms=b",
            "columns: expected one of arrival_s, arrival_ms, arrival_date, got arrival_s and",
        ),
        ("arrival_s=a,input_tokens=b", "columns: output_tokens: missing; say which column has it"),
        (
            "arrival_s=a,input_tokens=b,output_tokens=c,block_tokens=x",
            "columns: block_tokens: expected an integer >= 1",
        ),
        ("arrival_s=a,input_tokens=b,output_tokens=c", 'missing column "a"'),
        ("azure", 'column 1: unknown name "arrival_s"'),
    ],
)
def test_wrong_columns_are_one_line(tmp_path: Path, columns: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_requests(written(tmp_path, OWN), columns)
    assert message in str(error.value)


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
        (MOONCAKE + "{\n", "line 3: truncated; expected one request a line"),
        (AZURE.replace("2023-11-16 18:17:04", "soon"), "line 3: TIMESTAMP: expected a date and time"),
        (AZURE.replace(",8\n", ",8,9\n"), "line 3: expected 3 cells as in the header, got 4"),
        (OWN.replace("5.5", "nan"), "line 3: arrival_s: expected a number >= 0"),
        ("a,b\n1,2\n", "line 1: expected timestamp, input_length, output_length (Mooncake's), or timestamp"),
        ("arrival_s,input_tokens,output_tokens\n", "got the header alone"),
        (
            MOONCAKE.replace("27482", "27.482"),
            "line 1: timestamp: Mooncake's are whole milliseconds, got 27.482",
        ),
        (MOONCAKE.replace("27482", '"27482"'), 'line 1: timestamp: expected a number, got "27482"'),
        (MOONCAKE.replace("27482", "true"), "line 1: timestamp: expected a number >= 0, got true"),
        (MOONCAKE.replace("2353]", '2353], "hash_ids": []'), 'line 1: key "hash_ids" stands twice'),
        (
            MOONCAKE.replace("hash_ids", "hash_id"),
            'line 1: unknown column "hash_id" in Mooncake\'s format; did you',
        ),
        (
            MOONCAKE.replace("[46, 48]", "[46]*".replace("*", ', "turn": 1')),
            'line 2: unknown column "turn" in Mooncake',
        ),
        (MOONCAKE.replace("[46, 48]", "[4, 5, 6]"), "line 2: 3 names".replace("2: ", "2: hash_ids: ")),
        (
            MOONCAKE.replace("27482", "27.482"),
            "give columns='arrival_s=timestamp, input_tokens=input_length, output_tokens=output_length, "
            "blocks=hash_ids, block_tokens=512'",
        ),
        (
            MOONCAKE.replace("1300", "48"),
            "if blocks have another size, say columns='arrival_ms=timestamp, input_tokens=input_length, "
            "output_tokens=output_length, blocks=hash_ids, block_tokens=16', with arrival_s for seconds",
        ),
        (
            BAILIAN.replace("8.9", "8900").replace("10.9", "9100"),
            "timestamp: seconds or milliseconds? As seconds, there is one request every 200 s; if so, give "
            "columns=bailian, else columns='arrival_ms=timestamp, input_tokens=input_length, output_tokens=",
        ),
        (
            MOONCAKE.replace("30535", "27482") + MOONCAKE.splitlines()[0].replace("27482", "27483"),
            "timestamp: milliseconds or seconds? As milliseconds, there is one request every 500 µs; if so, give "
            "columns=mooncake, else columns='arrival_s=timestamp, input_tokens=",
        ),
        (
            BURSTGPT.replace("Request", "Requst"),
            'line 1: columns as BurstGPT\'s, but "Request tokens" is missing; did you mean it by "Requst tokens"? '
            "Rename that, or give columns='arrival_s=Timestamp, input_tokens=Requst tokens, output_tokens=Response",
        ),
        (
            BAILIAN.replace("timestamp", "timestmap"),
            'columns as Bailian\'s, but "timestamp" is missing; did you mean it by "timestmap"? Rename that, or give '
            "columns='arrival_s=timestmap, ",
        ),
        (AZURE.replace("Generated", "Context"), 'line 1: column "ContextTokens" stands twice'),
        (
            BAILIAN.replace("[7, 8]", "[7]"),
            "line 1: hash_ids: 1 names for a prompt of 40 tokens, which is 3 blocks of 16",
        ),
        (BURSTGPT.replace("482", "483"), "line 2: Total tokens: expected 482, the sum, got 483"),
        (
            OWN.replace("1 2", "1 2 3"),
            "line 2: blocks: 3 names for a prompt of 1,024 tokens, which is 2 blocks of 512",
        ),
        (
            OWN.replace("blocks", "block"),
            'line 1: unknown column "block" in topoopt\'s format; did you mean blocks?',
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_requests(written(tmp_path, text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_in_another_format_than_the_one_that_is_said_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"line 1: is in Bailian's format, not in Mooncake's$"):
        read_requests(written(tmp_path, BAILIAN), "mooncake")
