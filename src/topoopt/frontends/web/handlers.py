"""The HTTP handlers of the studio: its files, the nouns as JSON, and plans that report their progress."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from topoopt.base.answers import __version__, digest
from topoopt.base.errors import InvalidInput, TopoOptError, check_known, shown
from topoopt.base.limits import whole
from topoopt.catalog import accelerators
from topoopt.frontends.web.access import Guard
from topoopt.frontends.web.estimators import AT_ONCE, Estimators
from topoopt.frontends.web.openapi import openapi
from topoopt.frontends.web.plan_desk import FILES, PlanDesk, UnknownPlan
from topoopt.frontends.web.question import Question, known_models, question_of
from topoopt.pricing import LINK_TECHNOLOGIES, PRICE_TABLES
from topoopt.schema.files import parse_json
from topoopt.schema.words import QuestionWords, described, refuse_empty
from topoopt.workloads.transformer import TRANSFORMERS

SERVERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BANDWIDTHS_GBPS = (25, 50, 100, 200, 400, 800, 1600)
MOST_PORTS = 16
"""Most ports on a slider; a number field accepts more."""
PAUSE_S, SIGN_OF_LIFE_S = 0.1, 10.0
"""Interval of checks of a plan; and of keep-alive messages of a stream."""
MOST_WAITING = 100
"""Questions that may wait for an answer."""
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
    estimators: Estimators = field(default_factory=Estimators)

    def question(self, words: Mapping[str, Any]) -> Question:
        """Return the question from given values; errors as :func:`topoopt.frontends.web.question_of`."""
        return question_of(words, files=self.files)


class BadAddress(InvalidInput):
    """Parameters of an address that could be taken for several questions."""


def make_app(studio: Studio) -> Starlette:
    """Return the application."""
    handlers = _Handlers(studio)
    routes = [
        Route("/", handlers.page),
        Route("/api", handlers.page),
        Route("/api/estimate", handlers.estimate),
        Route("/api/page", handlers.answer_page),
        Route("/assets/{name:path}", _plain(handlers.asset)),
        Route("/api/openapi.json", _plain(handlers.openapi)),
        Route("/api/fields", _plain(handlers.fields)),
        Route("/api/plans", _plain(handlers.ask), methods=["POST"]),
        Route("/api/plans/{key}", _plain(handlers.plan)),
        Route("/api/plans/{key}", _plain(handlers.cancel), methods=["DELETE"]),
        Route("/api/plans/{key}/events", _plain(handlers.events)),
        Route("/api/plans/{key}/{name}", _plain(handlers.plan_file)),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=studio.token)],
        exception_handlers={
            TopoOptError: _refused,
            HTTPException: _missing,
            UnknownPlan: _unknown_plan,
            ClientDisconnect: _gone,
        },
    )


def _plain(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that refuses parameters in the address: nothing would read them."""

    async def answered(request: Request) -> Response:
        if words := [name for name in request.query_params if name != "token"]:
            raise BadAddress(
                f"{words[0]}: {request.url.path} takes no parameters; a question goes to /api/estimate"
            )
        return await handler(request)

    return answered


class _Handlers:
    """The HTTP handlers, one method per route."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._assets = _assets()
        self._limiter: anyio.CapacityLimiter | None = None

    async def page(self, request: Request) -> Response:
        name = "index.html" if request.url.path == "/" else "api.html"
        self._address(request)
        return self._asset(request, name)

    async def asset(self, request: Request) -> Response:
        return self._asset(request, request.path_params["name"])

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(openapi())

    async def fields(self, request: Request) -> Response:
        return JSONResponse({"version": __version__, **page_fields(self._studio.first, self._studio.files)})

    async def estimate(self, request: Request) -> Response:
        await _body(request)
        question = self._studio.question(self._address(request))
        return await self._answered("estimate", question, request)

    async def answer_page(self, request: Request) -> Response:
        await _body(request)
        question = self._studio.question(self._address(request))
        return await self._answered("page", question, request)

    async def ask(self, request: Request) -> Response:
        text = await _body(request)
        words = parse_json(text.decode("utf-8", "replace"), "body") if text else {}
        if not isinstance(words, dict):
            raise InvalidInput("body: expected an object of words")
        search = {name: whole(name, words.pop(name)) for name in SEARCH_WORDS if name in words}
        question = self._studio.question(words)
        await self._answered("estimate", question, request)  # refuses what a plan would refuse
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

    async def _answered(self, form: str, question: Question, request: Request) -> Response:
        """Answer a question in its turn, unless the one who asked has left by then."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(AT_ONCE)
        if self._limiter.statistics().tasks_waiting >= MOST_WAITING:
            raise HTTPException(503, f"{MOST_WAITING} questions wait already; ask again later")
        async with self._limiter:
            if await request.is_disconnected():
                raise ClientDisconnect
            answer = await self._studio.estimators.answer(form, question)
            return Response(answer, media_type="application/json")

    def _address(self, request: Request) -> dict[str, str]:
        """Return the parameters of an address; refuse those that could be taken for several questions."""
        query = request.url.query
        try:
            pairs = parse_qsl(query, True, strict_parsing=bool(query), errors="strict")
        except ValueError:
            raise BadAddress(
                "address: expected NAME=VALUE&NAME=VALUE, with UTF-8 after percent signs"
            ) from None
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise BadAddress(f"{name}: {times} times in the address; give it once")
        for name, value in pairs:
            if not (name + value).isascii() and value not in self._studio.files:
                raise BadAddress(f"{name}: expected ASCII, got {shown(value)}")
        words = {name: value for name, value in pairs if name != "token"}
        for name in words:
            check_known("word", name, ("model", *(word.name for word in described(QuestionWords))))
        refuse_empty(words)
        return words


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


async def _body(request: Request) -> bytes:
    """Return a body, which :class:`Guard` lets be of :data:`LARGEST_BODY` bytes at most."""
    return b"".join([part async for part in request.stream()])


def _key(request: Request) -> str:
    return str(request.path_params["key"])


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a mistake with the sentence of the command line, and the word that it is in."""
    message = str(error)
    word = message.split(" ", 1)[0].split(":", 1)[0]
    return JSONResponse({"field": word, "message": message}, 400 if isinstance(error, BadAddress) else 422)


async def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"field": None, "message": str(error.detail)}, error.status_code)


async def _gone(request: Request, error: Exception) -> Response:
    """Answer one who has left, whom no answer reaches."""
    return Response(status_code=400)


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
