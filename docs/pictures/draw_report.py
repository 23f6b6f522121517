"""Take the picture of a report for the README, with Chromium and the Pillow that comes with matplotlib.

``python docs/pictures/draw_report.py`` plans DLRM on 16 servers, makes its report and writes
``docs/pictures/report.png``: its head and its network. Another Chromium has other letters, so no test compares
the picture.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.pages import make_page, write_report
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import load_model

PICTURE = Path(__file__).with_name("report.png")
WIDTH, HEIGHT = 1366, 1340
LEFT_OUT = "#job, #strategy { display: none; }"  # for the topology to be on the picture, too
COLORS = 255  # of the palette: the picture stays below 200 kB


def main() -> int:
    """Write the picture; 1 where there is no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium is installed here", file=sys.stderr)
        return 1
    job = make_job(load_model("dlrm", servers=16), ClusterSpec(16, 4, 100e9), JobSettings())
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "report.html"), Path(folder, "shot.png")
        write_report(page, make_page(make_plan(job, SearchOptions(budget=400))))
        page.write_text(page.read_text().replace("</style>", f"{LEFT_OUT}</style>"))
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=20000",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={shot}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True)
        Image.open(shot).convert("RGB").quantize(COLORS).save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
