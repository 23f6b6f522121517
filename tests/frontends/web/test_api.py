"""The JSON API: refusals are sentences, the document is true, plans can be watched, cancelled and frozen."""

import http.client
import json
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import topoopt
from tests.frontends.web.conftest import LONGEST_S, Running
from topoopt.frontends.cli import main

TIMES = ("cpu_s", "proposals_per_s")
"""Figures of the run itself, which no two runs share."""
SMALL = {"model": "dlrm", "servers": 4, "degree": 2, "bandwidth": "100Gbps", "budget": 20}
LONG = {"model": "dlrm", "servers": 16, "degree": 4, "bandwidth": "100Gbps", "budget": 100_000_000}


def schema_of(studio: Running, noun: str) -> dict[str, Any]:
    document = studio.ask("/api/openapi.json").json
    return {"$ref": f"#/components/schemas/{noun}", "components": document["components"]}


def test_an_estimate_is_the_noun_of_the_library_and_as_the_document_says(studio: Running) -> None:
    words = {"model": "llama3-8b", "servers": 4, "degree": 4, "bandwidth": "400Gbps"}
    answered = studio.estimate(**words)
    assert answered.status == 200
    here = topoopt.studio_answer(**words)  # type: ignore[arg-type]
    assert answered.json == json.loads(json.dumps(here.to_json()))
    jsonschema.validate(answered.json, schema_of(studio, "Answer"))


@pytest.mark.parametrize(
    "words",
    [
        {"servers": 1},
        {"degree": "many"},
        {"model": "dlmr"},
        {"model": "llama3-405b", "servers": 2},
        {"servers": 4, "degree": 73},
        {"accelerator": "abacus"},
        {"nothing": "1"},
        {"model": "llama3-8b", "servers": 4, "seq": 0},
        {"model": "dlrm", "seq": 8},
    ],
    ids=str,
)
def test_a_mistake_is_422_with_the_sentence_of_the_library_and_its_word(
    studio: Running, words: dict[str, object]
) -> None:
    answered = studio.estimate(**words)
    assert answered.status == 422
    with pytest.raises(topoopt.TopoOptError) as refused:
        topoopt.studio_answer(**words)  # type: ignore[arg-type]
    assert answered.json["message"] == str(refused.value)
    jsonschema.validate(answered.json, schema_of(studio, "Refusal"))
    asked = studio.ask("/api/plans", "POST", words)
    assert (asked.status, asked.json) == (422, answered.json)


def test_the_sentence_is_that_of_the_command_line(
    studio: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "llama3-8b", "--servers", "4", "--accelerator", "abacus"]) == 2
    said = studio.estimate(model="llama3-8b", servers=4, accelerator="abacus").json
    assert said["message"] in capsys.readouterr().err.replace("--accelerator", "accelerator")
    assert said["field"] == "accelerator"


def test_every_address_of_the_document_answers(studio: Running) -> None:
    document = studio.ask("/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            said = studio.ask(
                path.replace("{id}", "nothing"), method.upper(), {} if method == "post" else None
            )
            assert str(said.status) in operation["responses"], (path, method, said.text[:200])
            if said.status == 202:  # a plan of the default job, which nobody waits for
                studio.ask(f"/api/plans/{said.json['id']}", "DELETE")


def test_a_body_that_is_none_is_refused(studio: Running) -> None:
    assert studio.ask("/api/plans", "POST", [1]).json["message"] == "body: expected an object of words"
    assert studio.ask("/api/plans", "POST", {**SMALL, "budget": "x"}).status == 422
    assert studio.ask("/api/plans", "POST", {"model": "d" * 200_000}).status == 413


def test_a_plan_tells_how_far_it_is_and_its_best_answer_and_can_be_cancelled(studio: Running) -> None:
    """Answers are above the bound of their strategy; the last stays when the plan is cancelled."""
    before = children(studio.process.pid)
    key = studio.ask("/api/plans", "POST", LONG).json["id"]
    waiting = studio.ask("/api/plans", "POST", {**LONG, "seed": 1}).json["id"]
    met: dict[int, float] = {}

    def has_one() -> bool:
        state = studio.ask(f"/api/plans/{key}").json
        draft = state["draft"]
        if draft is not None:
            assert draft["iteration_time_s"] >= draft["lower_bound_s"]
            assert draft["wiring"]
            met[draft["number"]] = draft["iteration_time_s"]
        return bool(met) and state["total"] > 0

    until(has_one)
    assert studio.ask(f"/api/plans/{waiting}").json["ahead"] == 1
    workers = set(children(studio.process.pid)) - set(before)
    assert workers
    assert studio.ask(f"/api/plans/{waiting}", "DELETE").json["status"] == "cancelled"
    state = studio.ask(f"/api/plans/{key}", "DELETE").json
    assert state["status"] == "cancelled"
    assert state["draft"]["number"] >= max(met)
    assert state["draft"]["iteration_time_s"] <= min(met.values())
    jsonschema.validate(state, schema_of(studio, "Plan"))
    until(lambda: not any(alive(one) for one in workers))
    assert studio.ask(f"/api/plans/{key}/plan.json").status == 404
    assert studio.planned(**SMALL)["status"] == "done"  # the next one is made


def test_a_plan_is_frozen_as_the_file_that_its_command_makes(
    studio: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = studio.planned(**SMALL)
    assert state["status"] == "done", state
    jsonschema.validate(state, schema_of(studio, "Plan"))
    frozen = studio.ask(f"/api/plans/{state['id']}/plan.json").json
    program, *words = state["command"].split()
    assert program == "topoopt"
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    again = json.loads((tmp_path / "plan.json").read_text())
    for document in (frozen, again):
        for name in TIMES:
            document.pop(name, None)
            document["search"].pop(name, None)
    assert frozen == again
    assert state["plan"]["iteration_time_s"] == again["iteration_time_s"]
    assert state["plan"]["topology"]["servers"] == 4
    report = studio.ask(f"/api/plans/{state['id']}/report.html")
    assert report.headers["content-type"].startswith("text/html")
    assert "dlrm" in report.text


def test_a_page_is_the_estimate_and_its_charts(studio: Running) -> None:
    """Charts are those of the report: every fabric with a price is a point, every fabric a bar that adds up."""
    words = "model=llama3-8b&servers=8&degree=4&bandwidth=400Gbps"
    said = studio.ask(f"/api/page?{words}")
    jsonschema.validate(said.json, schema_of(studio, "Page"))
    answer, figures = said.json["answer"], said.json["figures"]
    assert answer == studio.ask(f"/api/estimate?{words}").json
    times_s = {row["title"]: row["iteration_time_s"] for row in answer["fabrics"]}
    points = {one["name"]: one["y"][0] for one in figures["money"]["series"] if one["name"] in times_s}
    assert points == pytest.approx(times_s)
    sums_s = [sum(parts) for parts in zip(*(one["y"] for one in figures["parts"]["series"]), strict=True)]
    assert dict(zip(figures["parts"]["words"], sums_s, strict=True)) == pytest.approx(times_s)


def test_equal_questions_are_one_plan(studio: Running) -> None:
    first = studio.ask("/api/plans", "POST", SMALL).json["id"]
    text = {name: str(value) if name != "budget" else value for name, value in SMALL.items()}
    assert studio.ask("/api/plans", "POST", text).json["id"] == first
    assert studio.ask("/api/plans", "POST", {**SMALL, "seed": 1}).json["id"] != first


def test_a_plan_that_cannot_be_made_says_why(studio: Running) -> None:
    state = studio.planned(model="llama3-8b", servers=4, degree=2, bandwidth="100Gbps", budget=20)
    assert state["status"] == "failed"
    assert state["message"].startswith("budget: is for searches over operators")


def test_who_watches_with_others_does_not_cancel_their_plan_and_a_killed_server_takes_it_along(
    start: Callable[..., Any],
) -> None:
    with start() as studio:
        key = studio.ask("/api/plans", "POST", LONG).json["id"]
        begun = threading.Semaphore(0)
        watchers = [threading.Thread(target=watch, args=(studio, key, begun)) for _ in range(2)]
        for one in watchers:
            one.start()
        for _ in watchers:
            begun.acquire(timeout=LONGEST_S)
        until(lambda: studio.ask(f"/api/plans/{key}").json["status"] == "running")
        assert studio.ask(f"/api/plans/{key}", "DELETE").json["status"] == "running"
        workers = children(studio.process.pid)
        assert workers
        studio.process.kill()
        for one in watchers:
            one.join(LONGEST_S)
        studio.process.wait(LONGEST_S)
        until(lambda: not any(alive(one) for one in workers))


def watch(studio: Running, key: str, begun: threading.Semaphore) -> None:
    with (
        suppress(http.client.IncompleteRead, ConnectionError),  # the server is killed
        urllib.request.urlopen(f"http://127.0.0.1:{studio.port}/api/plans/{key}/events") as events,
    ):
        events.readline()
        begun.release()
        events.read()


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text() if Path(f"/proc/{pid}").exists() else ""
    found = [int(one) for one in text.split()]
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(one) for one in (task / "children").read_text().split()]
    return sorted(
        {one for one in found if "resource_tracker" not in Path(f"/proc/{one}/cmdline").read_text()}
    )


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LONGEST_S
    while not is_so():
        assert time.monotonic() < end_s, "not in time"
        time.sleep(0.05)
