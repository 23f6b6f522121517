"""Access to the page: by token, or from this host without one; its content security policy, and limits of bodies.

A page of another site may make a browser ask, though it cannot read the answer. Such a request has no ``Origin`` if it
is a GET, but browsers say in ``Sec-Fetch-Site`` where it comes from (W3C, "Fetch Metadata Request Headers"). So nothing
but the page itself, opened by a link, is given to other sites, nor to other ports of this host.
"""

import asyncio
import re
import secrets
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "topoopt_studio"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""No request leaves the server, and no script runs but its own."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
PAGES = ("/", "/api")
"""Paths that a link on any site may open."""
LARGEST_BODY = 100_000
LINGER_S = 0.5
"""Time for a client to read that its body is refused; a connection closed at once would be reset."""
_HOST = r"(?P<place>(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?)"
_SENDER = re.compile(rf"null|[a-z][a-z0-9+.-]*://{_HOST}")


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
    """Lets a request through, or answers it.

    400 for heads that are malformed, 403 without the token or from a page of another site, 413 for a large body.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        send = _guarded(send, has_body)
        refused = self._refusal(scope["path"], headers)
        if refused is not None:
            await PlainTextResponse(refused[1], refused[0])(scope, receive, send)
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
        await self._app(scope, _limited(receive), send)

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

    def _refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        """Return status and reason where a request is not from this page, or too large to be one."""
        (host,) = headers.getlist("host") or ("",)
        here = re.fullmatch(_HOST, host)
        origins = [_SENDER.fullmatch(origin) for origin in headers.getlist("origin")]
        if here is None or len(origins) > 1 or None in origins:
            return 400, "Host or Origin is missing or malformed: expected NAME:PORT and http://NAME:PORT."
        name = here["name"].strip("[]")
        senders = [origin["place"] for origin in origins if origin is not None]
        if path not in PAGES:
            referrers = [_SENDER.match(referrer) for referrer in headers.getlist("referer")]
            senders += [referrer["place"] if referrer else None for referrer in referrers]
            if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
                return 403, "This is asked for by a page of another site."
        if any(sender != host for sender in senders) or not (
            self._token is not None or name in LOCAL_NAMES or is_loopback(name)
        ):
            return 403, "This page is asked for under another name than its own."
        if int(headers.get("content-length", "0")) > LARGEST_BODY:
            return 413, f"body: expected at most {LARGEST_BODY:,} bytes"
        return None


def _limited(receive: Receive) -> Receive:
    left = LARGEST_BODY

    async def receive_at_most() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, f"body: expected at most {LARGEST_BODY:,} bytes")
        return message

    return receive_at_most


def _guarded(send: Send, has_body: bool) -> Send:
    """Return a sender that adds our policy; it closes the connection of a request whose body may be unread."""
    too_large = False

    async def send_with_policy(message: Message) -> None:
        nonlocal too_large
        if message["type"] == "http.response.start":
            too_large = message["status"] == 413
            headers = MutableHeaders(scope=message)
            headers.setdefault("content-security-policy", POLICY)
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            headers["cross-origin-resource-policy"] = "same-origin"
            if has_body:
                headers["connection"] = "close"
        elif too_large and not message.get("more_body"):
            await send({**message, "more_body": True})
            await asyncio.sleep(LINGER_S)
            message = {"type": "http.response.body"}
        await send(message)

    return send_with_policy
