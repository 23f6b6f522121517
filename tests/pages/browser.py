"""A page in headless Chromium: what it makes of it, what it complains of, what it asks a network for."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDED = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")
LONGEST_S = 600


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page."""

    dom: str
    complaints: list[str]
    requests: list[str]

    @property
    def drawn(self) -> int:
        return len(re.findall(r'<div class="plot[^"]*"[^>]* data-drawn="yes"', self.dom))


def opened(text: str, folder: Path) -> Seen:
    """Open a page from a file, without any network, until its scripts have nothing left to do."""
    page, log = folder / "page.html", folder / "net.json"
    page.write_text(text)
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--window-size=1366,768",
        "--virtual-time-budget=20000",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        f"--log-net-log={log}",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 0, done.stderr[-2000:]
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(done.stdout, complaints, _requests_of_pages(log))


def _requests_of_pages(log: Path) -> list[str]:
    """Return what pages have asked of a network; files and data are none, and the browser's own do not count."""
    found = []
    for event in json.loads(log.read_text())["events"]:
        said = event.get("params", {})
        by_a_page = said.get("initiator", "not an origin") != "not an origin"
        if by_a_page and str(said.get("url", "")).startswith(("http", "ws", "ftp")):
            found.append(said["url"])
    return found


def with_script(text: str, script: str) -> str:
    """Return a page with a script of the test, which its policy would not let in."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n', "", text)
    return text.replace("</body>", f"<script>{script}</script></body>")
