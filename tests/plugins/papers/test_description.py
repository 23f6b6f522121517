"""The data file of a figure: templates are filled, cases have their own values, every published value an origin."""

import pytest

from topoopt.pages import LineChart
from topoopt.plugins.papers import STUDIES
from topoopt.plugins.papers.figure import Description, description

SMALL = Description(
    name="fig0",
    title="Tax",
    shown="A line.",
    notes=["{few} of all.", {"when": "quick", "text": "Quick."}, {"each": "lost", "text": "{who} lost."}],
    compared={
        "tax": {
            "what": "tax of {model}",
            "published": {"dlrm": 1.1, "bert": [1.0, 2.0]},
            "tolerance": 0.01,
            "origin": "the talk",
            "explanation": {"dlrm": "It forwards."},
        }
    },
    charts={
        "tax": {
            "name": "fig0-{model}",
            "title": "Tax",
            "x_label": "batch",
            "y_label": "tax",
            "y_log": True,
            "curves": {"by": "fabric", "x": "batch", "x_is_word": True, "y": "tax", "y_scale": 10},
            "published": [{"name": "published", "x": ["64"], "y": [11.0]}],
        }
    },
    tables={},
)
ROWS = [{"fabric": "ring", "batch": 64, "tax": 1.1}, {"fabric": "ring", "batch": 128, "tax": 1.2}]


def test_a_comparison_takes_what_the_file_has_for_its_case() -> None:
    dlrm, bert = (SMALL.comparison("tax", 1.5, case, model=case.upper()) for case in ("dlrm", "bert"))
    assert (dlrm.what, dlrm.published_low, dlrm.published_high) == ("tax of DLRM", 1.1, 1.1)
    assert (bert.published_low, bert.published_high, bert.met) == (1.0, 2.0, True)
    assert (dlrm.explanation, bert.explanation) == ("It forwards.", "")
    assert SMALL.comparison("tax", 1.5, "dlrm", model="", published=1.5).met


def test_notes_are_made_when_and_as_often_as_their_words_say() -> None:
    rows = [*ROWS, {"fabric": "tree", "hops": 3}]
    figure = SMALL.figure(rows, (), (), few=2, quick=False, lost=[{"who": "A"}, {"who": "B"}])
    assert figure.notes == ("2 of all.", "A lost.", "B lost.")
    assert figure.rows[2] == {"fabric": "tree", "batch": None, "tax": None, "hops": 3}
    with pytest.raises(KeyError, match="few"):
        SMALL.figure(rows, (), (), quick=False, lost=[])


def test_a_chart_has_a_curve_for_each_value_and_what_is_published() -> None:
    chart = SMALL.chart("tax", ROWS, model="dlrm")
    assert isinstance(chart, LineChart)
    assert (chart.name, chart.y_log) == ("fig0-dlrm", True)
    ours, published = chart.series
    assert (ours.name, ours.x, ours.y) == ("ring", ("64", "128"), (11.0, 12.0))
    assert published.published


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_value_says_where_it_stands(name: str) -> None:
    written = description(name)
    assert written.title
    assert written.shown.endswith(".")
    assert written.compared
    assert all(entry["what"] and entry["origin"] for entry in written.compared.values())
