"""The files of ``topoopt llm traffic``: the matrix as CSV and as a heat map."""

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from topoopt.cli.output_file import check_writable
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.cli.llm_traffic_result import LlmTraffic
    from topoopt.report import HeatmapChart

PICTURES = ("png", "svg", "pdf", "html")
KIND_WORDS = {
    "tp": "tensor parallel",
    "cp": "context parallel",
    "ep": "expert parallel",
    "pp": "pipeline",
    "dp": "data parallel",
    "embedding": "tied embedding",
}


def check_heat_map(path: str | None, by: str) -> None:
    """Refuse a picture that could not be drawn after the work.

    Raises
    ------
    InvalidInput
        For an unknown suffix, and as :func:`~topoopt.cli.output_file.check_writable`.
    """
    if path is None:
        return
    check_writable(path, "--heat-map")
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    if suffix not in PICTURES:
        raise unknown_name("--heat-map: format", suffix, PICTURES)


def write_csv(path: str, found: "LlmTraffic") -> None:
    """Write one square matrix, or rows of kind, source, destination and bytes."""
    from topoopt.files import write_atomically

    matrices = found.matrices()
    if found.by != "kind":
        [matrix] = matrices.values()
        rows = matrix.round().astype("int64").tolist()
        write_atomically(path, "".join(",".join(map(str, row)) + "\n" for row in rows))
        return
    lines = ["kind,src,dst,bytes"]
    for kind, matrix in matrices.items():
        for src, dst in zip(*(index.tolist() for index in matrix.nonzero()), strict=True):
            lines.append(f"{kind},{src},{dst},{round(float(matrix[src, dst]))}")
    write_atomically(path, "\n".join(lines) + "\n")


def write_heat_map(path: str, found: "LlmTraffic") -> tuple[str, ...]:
    """Draw the matrices and return the names of the files: one, or one for each kind.

    Raises
    ------
    InvalidInput
        If nothing leaves a server, so that there is nothing to draw.
    """
    charts = _charts(PurePath(path).stem, found)
    if not charts:
        raise InvalidInput(
            "--heat-map: no byte leaves a server; ask for --by rank, or for fewer --accelerators-per-server"
        )
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    if suffix == "html":
        return _write_page(path, found, charts)
    from topoopt.report import draw_charts

    return draw_charts(charts, Path(path).parent, (suffix,))


def _charts(stem: str, found: "LlmTraffic") -> tuple["HeatmapChart", ...]:
    from topoopt.report import heatmap

    of = "rank" if found.by == "rank" else "server"
    charts = []
    for name, matrix in found.matrices().items():
        of_kind = name in KIND_WORDS
        title = f"{found.title}: {KIND_WORDS[name]}" if of_kind else f"{found.title}: between {of}s"
        if matrix.any():
            charts.append(heatmap(f"{stem}-{name}" if of_kind else stem, title, matrix, of))
    return tuple(charts)


def _write_page(path: str, found: "LlmTraffic", charts: tuple["HeatmapChart", ...]) -> tuple[str, ...]:
    from topoopt.cli.llm_traffic_report import KIND_COLUMNS, RANK_COLUMNS, headline, kind_cells, rank_cells
    from topoopt.report import Table, Tile, traffic_page, write_report
    from topoopt.units import format_bytes

    one, kinds = found.configuration, found.kinds()
    network = sum(row.network_bytes for row in kinds)
    tiles = (
        Tile("Accelerators", f"{one.accelerators:,}", f"on {found.servers:,} servers"),
        Tile("Sent by all", format_bytes(sum(row.wire_bytes for row in kinds)), "in one iteration"),
        Tile("Between servers", format_bytes(network), "in one iteration"),
    )
    tables = (
        Table(
            "A rank of the first stage",
            RANK_COLUMNS,
            rank_cells(found.first_stage()),
            RANK_COLUMNS[2:],
        ),
        Table("All ranks", KIND_COLUMNS, tuple(map(kind_cells, kinds)), KIND_COLUMNS[2:]),
    )
    write_report(path, traffic_page(found.title, headline(found), tiles, charts, tables))
    return (path,)
