"""How Sphinx builds the site from this folder: ``make docs``.

The theme is Furo: kept up by a developer of Python packaging, light, readable on a phone and in the dark, and it asks
nothing of another host, so that the site opens without a network. What is not written by hand, the reference and the
pages that stand outside this folder, is made when the build starts.
"""

import builtins
import logging
import re
import sys
from inspect import isfunction
from pathlib import Path

from docutils import nodes
from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx import addnodes
from sphinx.application import Sphinx

import topoopt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from docs.write_reference import write_reference  # noqa: E402 - beside this file, which Sphinx runs from elsewhere

# Pages list the keywords of a verb below its signature, which would be too long with all of them.
for verb in (getattr(topoopt, name) for name in dir(topoopt)):
    if isfunction(verb):
        vars(verb).pop("__signature__", None)

project = "topoopt"
author = project_copyright = "The topoopt developers"
version = release = topoopt.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["pictures"]
html_theme = "furo"
html_title = f"topoopt {release}"
html_static_path = ["site"]
html_css_files = ["site.css"]

myst_enable_extensions = ["html_image"]  # <img> with a width, as code hosts show it
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
logging.getLogger("traitlets").setLevel(logging.WARNING)  # a notebook that runs as it should is no news

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
# a section that numpydoc does not know, sections in another order, a parameter that does not exist or has no space
# before its colon, no docstring: the other rules are matters of style, and the house has its own
numpydoc_validation_checks = {"GL06", "GL07", "GL08", "PR02", "PR10"}
# every reference must lead somewhere, but for types of other libraries and those that a room keeps to itself
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!topoopt\b).*"), ("py:class", r"topoopt\.\w+\.\w+\..*")]

OUTSIDE = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "task-graphs": "examples/taskgraphs/README.md",
}
"""Pages of the site that stand elsewhere in the checkout, where a code host looks for them."""


def write_outside_pages(folder: Path) -> None:
    """Write a page for each file of :data:`OUTSIDE` that shows it, with its links as they lead from there."""
    folder.mkdir(exist_ok=True)
    for page, path in OUTSIDE.items():
        text = f"```{{include}} ../../{path}\n:relative-docs: docs/\n:relative-images:\n```\n"
        (folder / f"{page}.md").write_text(text, encoding="utf-8")


def lead_to_outside_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn a link out of this folder into one to the page that shows the file."""
    up = "../" * page.count("/")
    for name, path in OUTSIDE.items():
        source[0] = re.sub(rf"\]\((\.\./)+{re.escape(path)}", f"]({up}outside/{name}.md", source[0])


def leave_builtins_alone(app: Sphinx, tree: nodes.document) -> None:
    """Take the link off a type such as ``bytes``, for which Sphinx would take any attribute of that name."""
    for link in list(tree.findall(addnodes.pending_xref)):
        if hasattr(builtins, link.get("reftarget", "")):
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Hand Sphinx the functions above."""
    app.connect("source-read", lead_to_outside_pages)
    app.connect("doctree-read", leave_builtins_alone)
    write_outside_pages(HERE / "outside")
    write_reference(HERE / "reference", lambda text: str(SphinxDocString(text)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
