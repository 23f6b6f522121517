"""The HTTP handlers of the studio: its files, the nouns as JSON, and plans that report their progress."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from topoopt.base.answers import __version__, digest
from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.base.limits import whole
from topoopt.catalog import accelerators
from topoopt.frontends.web.access import Guard
from topoopt.frontends.web.answer import answer_question
from topoopt.frontends.web.estimate import FabricEstimate, StudioAnswer
from topoopt.frontends.web.openapi import openapi
from topoopt.frontends.web.plan_desk import FILES, PlanDesk, UnknownPlan
from topoopt.frontends.web.question import Question, known_models, question_of
from topoopt.pages import BarChart, LineChart, Series, figure
from topoopt.pricing import LINK_TECHNOLOGIES, PRICE_TABLES
from topoopt.schema.files import parse_json
from topoopt.schema.words import QuestionWords, described
from topoopt.workloads.transformer import TRANSFORMERS

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "compute_s": "computing",
        "bubble_s": "waiting for other stages",
        "tp_s": "tensor parallel",
        "cp_s": "context parallel",
        "ep_s": "experts, all to all",
        "pp_s": "between stages",
        "dp_s": "gradients and weights",
        "communication_s": "communication",
    }
)
"""Labels of the parts of the iteration time."""
FRONT, RELAYED = "front", "all relayed"
SEEN = 1.002
"""Relative range of an estimate above which it is marked."""
SERVERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BANDWIDTHS_GBPS = (25, 50, 100, 200, 400, 800, 1600)
MOST_PORTS = 16
"""Most ports on a slider; a number field accepts more."""
AT_ONCE = 2
"""Questions that are answered side by side; more would only share the cores and need memory each."""
PAUSE_S, SIGN_OF_LIFE_S = 0.1, 10.0
"""Interval of checks of a plan; and of keep-alive messages of a stream."""
LARGEST_BODY = 100_000
SEARCH_WORDS = ("budget", "baseline_budget", "seed")
KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@dataclass(frozen=True, eq=False, slots=True)
class Studio:
    """State shared by all requests.

    Attributes
    ----------
    first : Question
        Question that the page opens with.
    files : frozenset of str
        Names of files that the studio was started with.
    token : str or None
        Token that requests must present.
    """

    desk: PlanDesk
    first: Question
    files: frozenset[str] = frozenset()
    token: str | None = None

    def question(self, words: Mapping[str, Any]) -> Question:
        """Return the question from given values; see :func:`topoopt.frontends.web.question_of`."""
        return question_of(words, files=self.files)


def make_app(studio: Studio) -> Starlette:
    """Return the application."""
    handlers = _Handlers(studio)
    routes = [
        Route("/", handlers.page),
        Route("/api", handlers.page),
        Route("/assets/{name:path}", handlers.asset),
        Route("/api/openapi.json", handlers.openapi),
        Route("/api/fields", handlers.fields),
        Route("/api/estimate", handlers.estimate),
        Route("/api/page", handlers.answer_page),
        Route("/api/plans", handlers.ask, methods=["POST"]),
        Route("/api/plans/{key}", handlers.plan),
        Route("/api/plans/{key}", handlers.cancel, methods=["DELETE"]),
        Route("/api/plans/{key}/events", handlers.events),
        Route("/api/plans/{key}/{name}", handlers.plan_file),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=studio.token)],
        exception_handlers={TopoOptError: _refused, HTTPException: _missing, UnknownPlan: _unknown_plan},
    )


class _Handlers:
    """The HTTP handlers, one method per route."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._assets = _assets()
        self._limiter: anyio.CapacityLimiter | None = None

    async def page(self, request: Request) -> Response:
        name = "index.html" if request.url.path == "/" else "api.html"
        return self._asset(request, name)

    async def asset(self, request: Request) -> Response:
        return self._asset(request, request.path_params["name"])

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(openapi())

    async def fields(self, request: Request) -> Response:
        return JSONResponse({"version": __version__, **page_fields(self._studio.first, self._studio.files)})

    async def estimate(self, request: Request) -> Response:
        question = self._studio.question(request.query_params)
        return JSONResponse(await self._in_thread(partial(_estimated, question)))

    async def answer_page(self, request: Request) -> Response:
        question = self._studio.question(request.query_params)
        return JSONResponse(await self._in_thread(partial(_page, question)))

    async def ask(self, request: Request) -> Response:
        words = await _body(request)
        search = {name: whole(name, words.pop(name)) for name in SEARCH_WORDS if name in words}
        question = self._studio.question(words)
        await self._in_thread(partial(answer_question, question))  # refuses what a plan would refuse
        state = self._studio.desk.ask(question, search)
        return JSONResponse(state.to_json(), 202)

    async def plan(self, request: Request) -> Response:
        state, ahead = self._studio.desk.state(_key(request))
        return JSONResponse(state.to_json(ahead))

    async def cancel(self, request: Request) -> Response:
        return JSONResponse(self._studio.desk.cancel(_key(request)).to_json())

    async def events(self, request: Request) -> Response:
        key = _key(request)
        self._studio.desk.state(key)
        return StreamingResponse(
            _events(self._studio.desk, key),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )

    async def plan_file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            raise HTTPException(404, f"{name}: a plan has {', '.join(FILES)}")
        path = self._studio.desk.file(_key(request), name)
        own_policy = {"content-security-policy": "frame-ancestors 'self'"} if name.endswith("html") else {}
        return FileResponse(path, media_type=FILES[name], headers=own_policy)

    def _asset(self, request: Request, name: str) -> Response:
        if name not in self._assets:
            raise HTTPException(404, f"{name}: there is no such file")
        content, tag = self._assets[name]
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=KINDS[name.rsplit(".", 1)[-1]], headers=headers)

    async def _in_thread(self, function: Any) -> Any:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(AT_ONCE)
        return await anyio.to_thread.run_sync(function, limiter=self._limiter)


def _estimated(question: Question) -> dict[str, Any]:
    return answer_question(question).to_json()


def _page(question: Question) -> dict[str, Any]:
    answer = answer_question(question)
    return {"answer": answer.to_json(), "figures": figures(answer)}


async def _events(desk: PlanDesk, key: str) -> AsyncIterator[str]:
    """Yield a plan's state whenever it has changed; slow readers skip some, so that nothing accumulates."""
    last, quiet_s = (-1, -1), 0.0
    with desk.watched(key):
        while True:
            try:
                state, ahead = desk.state(key)
            except UnknownPlan:
                return
            if (state.version, ahead) != last:
                last, quiet_s = (state.version, ahead), 0.0
                yield f"event: state\ndata: {json.dumps(state.to_json(ahead), allow_nan=False)}\n\n"
                if state.is_over:
                    return
            elif quiet_s >= SIGN_OF_LIFE_S:
                quiet_s = 0.0
                yield ": alive\n\n"
            await asyncio.sleep(PAUSE_S)
            quiet_s += PAUSE_S


async def _body(request: Request) -> dict[str, Any]:
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > LARGEST_BODY:
            raise InvalidInput(f"body: expected at most {LARGEST_BODY:,} bytes")
    words = parse_json(text.decode("utf-8", "replace"), "body") if text else {}
    if not isinstance(words, dict):
        raise InvalidInput("body: expected an object of words")
    return words


def _key(request: Request) -> str:
    return str(request.path_params["key"])


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a mistake with the sentence of the command line, and the word that it is in."""
    message = str(error)
    word = message.split(" ", 1)[0].split(":", 1)[0]
    return JSONResponse({"field": word, "message": message}, 422)


async def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"field": None, "message": str(error.detail)}, error.status_code)


async def _unknown_plan(request: Request, error: Exception) -> Response:
    return JSONResponse(
        {"field": None, "message": f"plan {error}: there is none, or it has no files yet"}, 404
    )


def _assets() -> dict[str, tuple[bytes, str]]:
    """Return the page's files, and the report's modules that draw its charts, with a tag of their content."""
    own, charts = (
        files("topoopt.frontends.web").joinpath("assets"),
        files("topoopt.pages").joinpath("assets", "charts"),
    )
    found = {}
    for folder, before in ((own, ""), (charts, "charts/")):
        for one in folder.iterdir():
            if one.name.rsplit(".", 1)[-1] in KINDS:
                content = one.read_bytes()
                found[f"{before}{one.name}"] = (content, f'"{digest(content)[7:23]}"')
    return found


def page_fields(first: Question, files: frozenset[str]) -> dict[str, Any]:
    """Return the fields of the page, the models and parts that can be chosen, and the initial question."""
    return {
        "first": first.words,
        "texts": {word.name: word.text for word in described(QuestionWords)},
        "models": {
            "files": sorted(files),
            "transformers": [*TRANSFORMERS],
            "operators": [name for name in known_models() if name not in TRANSFORMERS],
        },
        "accelerators": [part.name.lower() for part in accelerators()],
        "prices": [*PRICE_TABLES],
        "link_technology": [*LINK_TECHNOLOGIES],
        "stops": {
            "servers": [*SERVERS],
            "degree": [*range(1, MOST_PORTS + 1)],
            "bandwidth": [f"{each}Gbps" for each in BANDWIDTHS_GBPS],
        },
    }


def figures(answer: StudioAnswer) -> dict[str, Any]:
    """Return the charts by name, as the report's modules of JavaScript draw them."""
    rows, best = [row for row in answer.fabrics if row.cost_usd is not None], answer.front
    wide = [row for row in rows if row.most_time_s > SEEN * row.iteration_time_s]
    series = [
        Series(FRONT, _usd(best), tuple(row.iteration_time_s for row in best), stepped=True, marked=False)
    ]
    series += [Series(row.title, _usd([row]), (row.iteration_time_s,), joined=False) for row in rows]
    if wide:
        names = tuple(row.title for row in wide)
        series.append(
            Series(
                RELAYED,
                _usd(wide),
                tuple(row.most_time_s for row in wide),
                published=True,
                joined=False,
                labels=names,
            )
        )
    money = LineChart(
        "money", "Money against time", "price of the network, $", "time of an iteration, s", tuple(series)
    )
    return {"money": figure(money), "parts": figure(_parts(answer))}


def _parts(answer: StudioAnswer) -> BarChart:
    rows = sorted(answer.fabrics, key=lambda row: row.iteration_time_s)
    used = [part for part in PARTS if any(part in row.parts_s for row in rows)]
    names = tuple(row.title for row in rows)
    series = tuple(
        Series(PARTS[part], names, tuple(row.parts_s.get(part, 0.0) for row in rows)) for part in used
    )
    return BarChart(
        "parts",
        "Where the time goes",
        "fabric",
        "time of an iteration, s",
        series,
        stacked=True,
        horizontal=True,
    )


def _usd(rows: list[FabricEstimate] | tuple[FabricEstimate, ...]) -> tuple[float, ...]:
    return tuple(row.cost_usd for row in rows if row.cost_usd is not None)
