"""Every series of a chart can be told from the others, and a fabric looks the same in every chart."""

import pytest

from topoopt.catalog import NETWORKS
from topoopt.pages import Series
from topoopt.pages.chart_layout import DARK, LIGHT, styles


def named(*names: str) -> tuple[Series, ...]:
    return tuple(Series(name, (), ()) for name in names)


def test_a_fabric_has_its_color_wherever_it_stands() -> None:
    for order in (("fat-tree", "topoopt"), ("mine", "topoopt", "yours", "fat-tree")):
        colors = {
            series.name: look.color for series, look in zip(named(*order), styles(named(*order)), strict=True)
        }
        assert colors["topoopt"] == LIGHT[0]
        assert colors["fat-tree"] == LIGHT[NETWORKS["fat-tree"].color or 0]
        assert len(set(colors.values())) == len(order)


def test_what_tells_two_fabrics_of_one_name_apart_leaves_the_first_its_color() -> None:
    names = ("Pareto front", "topoopt, 400 Gb/s", "fat-tree (d·B/3.2), 125 Gb/s", "fat-tree (priced)", "rail")
    front, ours, tree, other, rail = styles(named(*names))
    assert tree.color == LIGHT[NETWORKS["fat-tree"].color or 0]
    assert rail.color == LIGHT[NETWORKS["rail"].color or 0]
    assert len({front.color, ours.color, tree.color, other.color, rail.color}) == 5


@pytest.mark.parametrize("published", ["TopoOpt (published)", "topoopt, published", "published topoopt"])
def test_the_published_series_has_the_style_of_ours(published: str) -> None:
    ours, theirs = styles(named("TopoOpt", published))
    assert ours == theirs


def test_eight_series_differ_in_color_and_mark_and_twenty_in_some_way() -> None:
    eight = styles(named(*"abcdefgh"))
    assert len({look.color for look in eight}) == len({look.mark for look in eight}) == 8
    twenty = styles(named(*map(str, range(20))))
    assert len({(look.color, look.mark, look.dash) for look in twenty}) == 20


def test_only_the_first_of_six_lines_is_solid_and_so_hides_none_on_the_same_course() -> None:
    assert [look.dash == "solid" for look in styles(named(*"abcdef"))] == [True, *(False,) * 5]


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colors_stand_out_from_the_page() -> None:
    """WCAG asks for a contrast of 3 of graphics; the two lightest on white have 2.2, and a mark and a dash as well."""
    assert sum(1.05 / (luminance(color) + 0.05) >= 3 for color in LIGHT) >= 5
    assert min(1.05 / (luminance(color) + 0.05) for color in LIGHT) > 2
    dark_page = luminance("#14181f")
    assert min((luminance(color) + 0.05) / (dark_page + 0.05) for color in DARK) >= 4.5
