"""The OpenAPI document of the studio, made of the vocabulary and of the nouns; nothing in it is written twice."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from topoopt.base.answers import __version__
from topoopt.frontends.web.estimate import FabricEstimate, Sketch
from topoopt.frontends.web.plan_desk import CANCELLED, DONE, FAILED, FILES, RUNNING, WAITING
from topoopt.schema.words import Amount, DescribedWord, QuestionWords, described

MODEL = "A model of the zoo (topoopt models), or a file that the studio was started with."
REFUSED = "A word has no such value: the sentence of the command line, and the word that it is in."
TEXT: Mapping[str, Any] = {"type": "string"}
NUMBER: Mapping[str, Any] = {"type": "number"}
AMOUNT: Mapping[str, Any] = {"type": ["string", "number"]}
INTEGER: Mapping[str, Any] = {"type": "integer"}


@cache
def openapi() -> dict[str, Any]:
    """Return the document, version 3.1."""
    key = {"name": "id", "in": "path", "required": True, "schema": dict(TEXT), "description": "Of a plan."}
    plan = _answer("How far the plan is.", "Plan")
    gone = {"404": _answer("There is no such plan.", "Refusal")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "topoopt studio",
            "version": __version__,
            "description": "Which network, how long, how much: the nouns behind the live page. Bandwidths are in "
            "bits per second, times in seconds, prices in US dollars.",
        },
        "paths": {
            "/api/fields": {
                "get": _operation("What can be asked", {"200": _plain("Fields, models and parts.")})
            },
            "/api/estimate": {
                "get": _operation(
                    "Every fabric at once, in closed form, with its price",
                    {"200": _answer("The answer.", "Answer"), **REFUSALS},
                    parameters=_parameters(),
                )
            },
            "/api/page": {
                "get": _operation(
                    "The same answer, with its charts as the report describes them",
                    {"200": _answer("Answer and charts.", "Page"), **REFUSALS},
                    parameters=_parameters(),
                )
            },
            "/api/plans": {
                "post": _operation(
                    "Ask for a wired plan; equal questions are one plan",
                    {"202": plan, **REFUSALS},
                    requestBody={
                        "required": True,
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Question"}}
                        },
                    },
                )
            },
            "/api/plans/{id}": {
                "get": _operation("How far a plan is", {"200": plan, **gone}, parameters=[key]),
                "delete": _operation(
                    "Call a plan off, unless others watch it, too", {"200": plan, **gone}, parameters=[key]
                ),
            },
            "/api/plans/{id}/events": {
                "get": _operation(
                    "The same as a stream of events named state, until it is over",
                    {
                        "200": {"description": "Server-sent events.", "content": {"text/event-stream": {}}},
                        **gone,
                    },
                    parameters=[key],
                )
            },
            **{
                f"/api/plans/{{id}}/{name}": {
                    "get": _operation(
                        f"The plan as {name}",
                        {"200": {"description": name, "content": {kind.split(";")[0]: {}}}, **gone},
                        parameters=[key],
                    )
                }
                for name, kind in FILES.items()
            },
        },
        "components": {"schemas": _schemas()},
    }


def _operation(summary: str, responses: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"summary": summary, **more, "responses": responses}


def _plain(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {}}}


def _answer(text: str, noun: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{noun}"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _parameters() -> list[dict[str, Any]]:
    model = {"name": "model", "in": "query", "schema": dict(TEXT), "description": MODEL}
    return [
        model,
        *(
            {"name": word.name, "in": "query", "schema": _kind(word), "description": word.text}
            for word in described(QuestionWords)
        ),
    ]


def _kind(word: DescribedWord) -> dict[str, Any]:
    kind = dict({int: INTEGER, float: NUMBER, Amount: AMOUNT}.get(word.kind, TEXT))
    return kind if word.word.default is None else {**kind, "default": word.word.default}


REFUSALS: Mapping[str, Any] = {
    "400": _answer("A parameter of the address is given twice, or malformed.", "Refusal"),
    "413": _answer("The body is too large.", "Refusal"),
    "422": _answer(REFUSED, "Refusal"),
    "503": _answer("Too many questions wait already.", "Refusal"),
}


def _schemas() -> dict[str, Any]:
    words = {word.name: {**_kind(word), "description": word.text} for word in described(QuestionWords)}
    question = {"model": {**TEXT, "description": MODEL}, **words}
    fabric = _of_noun(FabricEstimate)
    fabric["properties"] |= {
        **{f"iteration_time_{end}_s": {"type": ["number", "null"]} for end in ("low", "high")},
        "label": dict(TEXT),
        "gap": {"type": ["number", "null"]},
        "on_front": {"type": "boolean"},
    }
    texts = (
        *("command", "kind", "job", "accelerator", "unit", "bound_words", "prices", "terms", "best"),
        *("sentence", "reason", "accuracy"),
    )
    return {
        "Question": {"type": "object", "properties": question},
        "Refusal": {
            "type": "object",
            "properties": {"field": {"type": ["string", "null"]}, "message": dict(TEXT)},
            "required": ["field", "message"],
        },
        "Answer": {
            "type": "object",
            "properties": {
                "question": {"$ref": "#/components/schemas/Question"},
                **{name: dict(TEXT) for name in texts},
                "accelerators": dict(INTEGER),
                "units": dict(NUMBER),
                "bound_s": dict(NUMBER),
                "fabrics": {"type": "array", "items": {"$ref": "#/components/schemas/Fabric"}},
                "sketch": {"$ref": "#/components/schemas/Sketch"},
                "skipped_fabrics": {"type": "array"},
                "warnings": {"type": "array", "items": dict(TEXT)},
            },
            "required": ["question", *texts, "accelerators", "units", "bound_s", "fabrics", "sketch"],
            "additionalProperties": False,
        },
        "Page": {
            "type": "object",
            "properties": {
                "answer": {"$ref": "#/components/schemas/Answer"},
                "figures": {"type": "object", "description": "Charts by name, for drawChart(place, figure)."},
            },
            "required": ["answer", "figures"],
        },
        "Fabric": {**fabric, "additionalProperties": False},
        "Sketch": _of_noun(Sketch),
        "Plan": _plan_schema(),
    }


def _plan_schema() -> dict[str, Any]:
    states = [WAITING, RUNNING, DONE, FAILED, CANCELLED]
    return {
        "type": "object",
        "properties": {
            "id": dict(TEXT),
            "status": {"enum": states},
            **{name: dict(TEXT) for name in ("stage", "message", "command")},
            **{name: dict(INTEGER) for name in ("done", "total", "ahead")},
            "question": {"$ref": "#/components/schemas/Question"},
            "files": {"type": "array", "items": {"enum": [*FILES]}},
            "draft": {
                "type": ["object", "null"],
                "description": "The best answer so far, while a plan is made.",
                "properties": {
                    "iteration_time_s": dict(NUMBER),
                    "wiring": dict(TEXT),
                    "lower_bound_s": {"type": ["number", "null"]},
                    "gap": {"type": ["number", "null"]},
                    "number": dict(INTEGER),
                },
            },
            "plan": {"type": ["object", "null"]},
        },
        "required": ["id", "status", "question", "command", "files", "draft", "plan"],
        "additionalProperties": False,
    }


def _of_noun(noun: type) -> dict[str, Any]:
    return TypeAdapter(noun).json_schema()
