"""Differences on pages: what rounds to nothing has no minus sign."""

import re
from pathlib import Path

from topoopt.pages import page


def test_no_signed_format_writes_a_negative_zero() -> None:
    forms = set()
    for path in Path(page.__file__).parent.glob("*.py"):
        forms |= set(re.findall(r"[\"':](\+[^\"'}]*[%f])[\"'}]", path.read_text(encoding="utf-8")))
    assert forms
    assert {format(-1e-9, form)[0] for form in forms} == {"+"}
