"""No two files import each other, not even around several corners, and not inside a room."""

import grimp
import networkx

# Flags of the words of a transformer and their shapes name each other's types.
KNOWN: set[frozenset[str]] = {
    frozenset({"topoopt.cli.transformer_shapes", "topoopt.cli.transformer_arguments"})
}


def test_no_file_imports_itself_around_corners() -> None:
    graph = grimp.build_graph("topoopt", cache_dir=None)
    imports = networkx.DiGraph(
        (module, other)
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
    )
    circles = {
        frozenset(circle) for circle in networkx.strongly_connected_components(imports) if len(circle) > 1
    }
    assert circles <= KNOWN, sorted(map(sorted, circles - KNOWN))
