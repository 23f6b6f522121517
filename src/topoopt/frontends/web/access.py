"""Access to the page: by token, or from this host without one; and its content security policy."""

import secrets
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "topoopt_studio"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""No request leaves the server, and no script runs but its own."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address of this host, which no other can reach.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets a request through, or answers it: 403 without the token, or from a page of another server."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_from_here(headers):
            refusal = PlainTextResponse("This page is asked for under another name than its own.", 403)
            await refusal(scope, receive, send)
            return
        shown = QueryParams(scope["query_string"]).get("token")
        if self._token is not None and shown is not None and self._is_token(shown):
            await self._with_cookie(scope, receive, send)
            return
        if self._token is not None and not self._is_known(headers):
            refusal = PlainTextResponse(
                "The token is missing: open the address that topoopt studio has printed.", 403
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, _with_policy(send))

    async def _with_cookie(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the token in a cookie, so that it does not stay in the address."""
        query = [pair for pair in scope["query_string"].decode().split("&") if not pair.startswith("token=")]
        place = scope["path"] + ("?" + "&".join(query) if query and query != [""] else "")
        answer = RedirectResponse(place.replace("//", "/"), 303)
        answer.set_cookie(COOKIE, self._token or "", httponly=True, samesite="strict")
        await answer(scope, receive, send)

    def _is_known(self, headers: Headers) -> bool:
        kind, _, said = headers.get("authorization", "").partition(" ")
        cookies = dict(
            pair.strip().split("=", 1) for pair in headers.get("cookie", "").split(";") if "=" in pair
        )
        return (kind.lower() == "bearer" and self._is_token(said)) or self._is_token(cookies.get(COOKIE, ""))

    def _is_token(self, said: str) -> bool:
        return secrets.compare_digest(said.encode(), (self._token or "").encode())

    def _is_from_here(self, headers: Headers) -> bool:
        """Whether the request comes from this page; without a token, only under a name of this host."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return False
        name = urlsplit(f"//{host}").hostname or ""
        return self._token is not None or name in LOCAL_NAMES or is_loopback(name)


def _with_policy(send: Send) -> Send:
    async def send_with_policy(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("content-security-policy", POLICY)
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            headers["cross-origin-resource-policy"] = "same-origin"
        await send(message)

    return send_with_policy
