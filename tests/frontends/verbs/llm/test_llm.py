"""``topoopt.llm`` answers in Python what the commands print."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json
from topoopt.measurements.training import fit_to_runs

RUNS = str(Path(__file__).parents[4] / "examples" / "runs.csv")


def test_an_estimate(printed: Printed) -> None:
    flags = [
        "llama3-70b",
        "--accelerators",
        "512",
        "--tp",
        "8",
        "--pp",
        "4",
        "--seq",
        "4096",
        "--latency",
        "2us",
    ]
    found = topoopt.llm.estimate("llama3-70b", accelerators=512, tp=8, pp=4, seq=4096, latency=2e-6)
    assert printed("llm", "estimate", *flags) == as_json(found.to_json())
    assert sum(found.parts_s.values()) == pytest.approx(found.iteration_time_s)


def test_every_run_of_a_table(printed: Printed) -> None:
    found = topoopt.llm.estimate_runs(RUNS)
    assert printed("llm", "estimate", "--runs", RUNS) == as_json(found.to_json())
    table = found.to_frame()
    assert len(table) == len(found.runs.table.rows)
    assert list(table.columns) == list(found.columns)


def test_a_search(printed: Printed) -> None:
    flags = ["llama3-8b", "--accelerators", "64", "--tp", "4", "--max-vpp", "1", "--top", "3"]
    found = topoopt.llm.search("llama3-8b", accelerators=64, tp=4, max_vpp=1, top=3)
    document = printed("llm", "search", *flags)
    for answer in (document, own := found.to_json()):
        del answer["search_cpu_s"], answer["configurations_per_s"]
    assert document == as_json(own)
    table = found.to_frame()
    assert len(table) == found.feasible
    assert set(table["tp"]) == {4}


def test_traffic(printed: Printed) -> None:
    flags = ["mixtral-8x7b", "--accelerators", "32", "--ep", "8", "--loads", "zipf", "--by", "kind"]
    found = topoopt.llm.traffic("mixtral-8x7b", accelerators=32, ep=8, loads="zipf", by="kind")
    assert printed("llm", "traffic", *flags) == as_json(found.to_json())
    assert set(found.to_frame()["kind"]) == {row.kind for row in found.kinds()}


def test_slots_are_a_file_or_numbers(tmp_path: Path) -> None:
    slots = [rank % 2 * 8 + rank // 2 for rank in range(16)]
    (tmp_path / "slots.txt").write_text("\n".join(map(str, slots)))
    numbers = topoopt.llm.traffic("llama2-7b", accelerators=16, tp=8, slots=slots)
    file = topoopt.llm.traffic("llama2-7b", accelerators=16, tp=8, slots=tmp_path / "slots.txt")
    assert numbers.to_json() == file.to_json()
    assert numbers.to_json() != topoopt.llm.traffic("llama2-7b", accelerators=16, tp=8).to_json()


@pytest.mark.long
def test_a_calibration(printed: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and flags ask for the same fit, which is made once."""
    few, fits = tmp_path / "few.csv", dict[str, Any]()
    few.write_text("\n".join(Path(RUNS).read_text().splitlines()[:5]))
    verb = importlib.import_module("topoopt.frontends.verbs.llm.calibrate")

    def fit_once(*asked: Any) -> Any:
        return fits.setdefault(repr(asked), fits.get(repr(asked)) or fit_to_runs(*asked))

    monkeypatch.setattr(verb, "fit_to_runs", fit_once)
    fit = topoopt.llm.calibrate(few, weight={}, attention="fused", strength=1.0)
    flags = ("--attention", "fused", "--strength", "1")
    assert printed("llm", "calibrate", str(few), *flags) == as_json(fit.to_json())
    assert len(fits) == 1
    assert set(fit.to_frame()["errors"]) >= {"before", "in_sample"}


def test_the_door_is_not_the_room() -> None:
    assert importlib.import_module("topoopt.transformers").Configuration
    assert topoopt.llm.estimate.__module__ == "topoopt.frontends.verbs.llm.estimate"


def test_an_answer_has_a_page() -> None:
    text = topoopt.page_text(topoopt.page_of(topoopt.llm.estimate("gpt2", accelerators=8)))
    assert "Memory of the fullest accelerator" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"acelerators": 8}, "did you mean accelerators"),
        ({"accelerators": 8, "tp": "2"}, 'tp: expected an integer, got "2"'),
        ({"accelerators": 8, "tp": 5}, "tp 5: does not divide"),
        ({}, "accelerators: missing"),
    ],
)
def test_a_mistake_is_one_sentence_about_the_word(words: dict[str, object], message: str) -> None:
    verbs: tuple[Any, ...] = (topoopt.llm.estimate, topoopt.llm.search, topoopt.llm.traffic)
    for verb in verbs:
        with pytest.raises(topoopt.InvalidInput) as caught:
            verb("llama3-8b", **words)
        assert message in str(caught.value)
        assert "--" not in str(caught.value)
