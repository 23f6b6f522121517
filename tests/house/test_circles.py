"""No two files import each other, not even around several corners, and not inside a room."""

import grimp
import networkx


def test_no_file_imports_itself_around_corners() -> None:
    graph = grimp.build_graph("topoopt", cache_dir=None)
    imports = networkx.DiGraph(
        (module, other)
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
    )
    circles = [
        sorted(circle) for circle in networkx.strongly_connected_components(imports) if len(circle) > 1
    ]
    assert not circles
