"""A deployment in one format, in several, or in all that can express it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself
from topoopt.base.errors import Infeasible, InvalidInput, NoRoute, check_known
from topoopt.plugins.exports.deployment import Contents, Deployment, ExportFormat
from topoopt.plugins.exports.documentation import forwarding_facts
from topoopt.plugins.exports.table import FORMATS, FORWARDING_FORMATS


@dataclass(frozen=True, slots=True)
class ExportedFormat:
    """A format with its files, by their names in the folder that is written."""

    format: ExportFormat
    files: Contents


@dataclass(frozen=True, slots=True)
class Refused:
    """A format that cannot express the plan, and the reason."""

    format: ExportFormat
    reason: str


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class ExportAnswer:
    """A plan as files; ``plan`` is its name.

    Attributes
    ----------
    out : str or None
        The folder that was written, if any.
    """

    plan: str
    deployment: Deployment
    formats: tuple[ExportedFormat, ...]
    refused: tuple[Refused, ...]
    out: str | None = None

    @property
    def forwarding(self) -> dict[str, Any] | None:
        """Forwarding by the servers; None where no forwarding format is written."""
        names = {row.name for row in FORWARDING_FORMATS}
        asked = any(one.format.name in names for one in self.formats)
        return forwarding_facts(self.deployment) if asked else None

    @property
    def files(self) -> dict[str, str | bytes]:
        """Contents of each file, by its name in the folder."""
        return {name: data for one in self.formats for name, data in one.files.items()}

    def to_frame(self) -> Frame:
        """Return a row for each format; needs pandas."""
        return frame(self.to_json()["formats"])

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt export --json``."""
        deployment = self.deployment
        return {
            **fields_of(self, "plan", "out"),
            "servers": deployment.plan.fabric.topology.servers,
            "links": deployment.wiring.links,
            "circuits": len(deployment.wiring.patches),
            "forwarding": self.forwarding,
            "panels": [
                {"name": one.name, "kind": one.kind, "ports": one.ports}
                for one in deployment.inventory.panels
            ],
            "formats": [
                {
                    "name": one.format.name,
                    "description": one.format.text,
                    "files": [
                        {"name": name, "size_bytes": len(data.encode() if isinstance(data, str) else data)}
                        for name, data in one.files.items()
                    ],
                }
                for one in self.formats
            ],
            "refused": [{"name": one.format.name, "reason": one.reason} for one in self.refused],
        }


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class ExportFormats:
    """The formats that there are."""

    formats: tuple[ExportFormat, ...]

    def to_frame(self) -> Frame:
        """Return a row for each format; needs pandas."""
        return frame(self.to_json()["formats"])

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt export --format list``."""
        rows = [
            {"name": one.name, "description": one.text, "files": one.files, "consumer": one.consumer}
            for one in self.formats
        ]
        return {"formats": rows}


ALL = "all"


def exported(
    deployment: Deployment, names: Sequence[str], on_progress: Progress
) -> tuple[tuple[ExportedFormat, ...], tuple[Refused, ...]]:
    """Return the files of every format, and the formats that refuse the plan.

    The files of several formats are in a folder each.

    Parameters
    ----------
    names : sequence of str
        Formats, or ``all``, which omits formats that cannot express the plan.
    on_progress
        Progress callback: format, formats done, and total.

    Raises
    ------
    InvalidInput
        For an unknown name, or none.
    Infeasible
        If a named format cannot express the plan, with the reason.
    """
    if not names:
        raise InvalidInput(f"format: name one or several of {', '.join(FORMATS)}, or {ALL}")
    for name in names:
        check_known("format", name, (*FORMATS, ALL))
    every = ALL in names
    chosen = [row for row in FORMATS.values() if every or row.name in names]
    done, refused = [], []
    for number, row in enumerate(chosen):
        on_progress(f"writing {row.name}", number, len(chosen))
        try:
            files = row.write(deployment)
        except (Infeasible, NoRoute) as error:
            if not every:
                raise Infeasible(f"{row.name}: {error}") from None
            refused.append(Refused(row, str(error)))
            continue
        folder = f"{row.name}/" if len(chosen) > 1 else ""
        done.append(ExportedFormat(row, {f"{folder}{name}": data for name, data in files.items()}))
    return tuple(done), tuple(refused)
