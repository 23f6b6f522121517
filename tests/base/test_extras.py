"""Without the libraries of the extras a first plan and its report work; what needs one says how to install it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKED = """
import sys
for name in ("duckdb", "matplotlib", "pandas", "pyarrow", "ray", "starlette", "onnx"):
    sys.modules[name] = None
from topoopt.frontends.cli import main
for words in sys.stdin.read().splitlines():
    print(main(words.split()), file=sys.stderr)
"""
PLAN = """plan vgg16 --servers 2 --degree 2 --fabrics none --out p.json
report p.json --out r.html"""
REFUSED = {
    "report p.json --out s.html --figures folder": ("--figures: matplotlib", "figures"),
    "sweep s.yaml --out s.duckdb": ("results files: duckdb", "sweep"),
    "choose vgg16 --servers 4": ("results files: duckdb", "sweep"),
    "reproduce fig13 --out fig13": ("--pictures: matplotlib", "figures"),
    "plan model.onnx --servers 2": ("model.onnx: onnx", "import"),
}


def test_a_missing_library_is_one_line_with_the_extra_that_brings_it(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes((ROOT / "examples" / "sweep.yaml").read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"no model")
    words = [sys.executable, "-c", BLOCKED]
    asked = "\n".join([PLAN, *REFUSED])
    ran = subprocess.run(words, input=asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = ["0", "0"]
    for place, extra in REFUSED.values():
        expected += [f'error: {place} is not installed; pip install "topoopt[{extra}]"', "2"]
    assert ran.stderr.splitlines() == expected
    assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "s.yaml", "p.json", "r.html"}
