"""A report that has been written: its page, where it is, and the figures beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.base.answers import shows_itself
from topoopt.base.units import format_bytes
from topoopt.pages.page import Block, Facts, Notes, Page, Section
from topoopt.pages.words import counted


@shows_itself
@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A page in a file.

    Attributes
    ----------
    file : str or None
        What was read; None where an answer was handed over.
    figures : tuple of str
        Files of the figures for papers.
    """

    file: str | None
    page: Page
    out: str
    size_bytes: int
    figures: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return what the report says and where it is as a mapping."""
        page = self.page
        return {
            "file": self.file,
            "kind": page.kind,
            "title": page.heading,
            "headline": page.headline,
            "key_numbers": dict(page.key_numbers),
            "warnings": list(page.warnings),
            "sections": [section.title for section in page.sections],
            "charts": [{"name": chart.name, "title": chart.title} for chart in page.charts],
            "out": self.out,
            "size_bytes": self.size_bytes,
            "figures": list(self.figures),
        }


def written_report_page(report: WrittenReport) -> Page:
    """Return what was written, as a page of its own."""
    page, figures = report.page, report.figures
    size = format_bytes(report.size_bytes)
    facts = (
        ("answer", page.headline),
        ("sections", ", ".join(section.title for section in page.sections)),
        ("page", f"{report.out}, {counted(len(page.charts), 'figure')}, {size}"),
        ("drawn", f"{counted(len(figures), 'file')} in {Path(figures[0]).parent}" if figures else ""),
    )
    blocks: tuple[Block, ...] = (
        Facts("", facts),
        *((Notes(page.warnings, warn=True),) if page.warnings else ()),
    )
    return Page(
        "report",
        page.heading,
        page.headline,
        (),
        (),
        (Section("report", "Report", "", blocks),),
        remark=f"report of a {page.kind}",
    )
