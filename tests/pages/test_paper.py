"""Charts on paper: the files asked for, equal bytes for equal charts, published figures hollow."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.pages import charts
from topoopt.base.errors import InvalidInput
from topoopt.pages import Chart, HeatmapChart, LineChart, Series, draw_charts
from topoopt.pages.chart_layout import LIGHT
from topoopt.pages.paper_figure import draw_on

STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The files of every kind of chart, drawn into a new folder."""
    return draw_charts(charts.every_kind(), tmp_path_factory.mktemp("figures") / "new" / "folder")


def test_each_chart_is_drawn_in_each_format(drawn: tuple[str, ...]) -> None:
    assert len(drawn) == 3 * len(charts.every_kind())
    for path in map(Path, drawn):
        assert path.read_bytes().startswith(STARTS[path.suffix[1:]])
    assert sorted(map(str, Path(drawn[0]).parent.iterdir())) == sorted(drawn)


def test_equal_charts_give_equal_bytes(drawn: tuple[str, ...], tmp_path: Path) -> None:
    """Each kind in the format that holds its text and numbers, and one kind in the others, too."""
    again = draw_charts(charts.every_kind(), tmp_path, ("svg",))
    again += draw_charts([charts.lines()], tmp_path, ("png", "pdf"))
    assert len(again) == len(charts.every_kind()) + 2
    for path in map(Path, again):
        assert path.read_bytes() == (Path(drawn[0]).parent / path.name).read_bytes(), path.name


def test_no_date_stands_in_a_file(drawn: tuple[str, ...]) -> None:
    for path in drawn:
        data = Path(path).read_bytes()
        assert b"dc:date" not in data
        assert b"CreationDate" not in data


@pytest.mark.parametrize("chart", charts.EMPTY, ids=lambda chart: chart.name)
def test_charts_of_nothing_are_drawn_without_a_warning(chart: Chart, tmp_path: Path) -> None:
    assert draw_charts([chart], tmp_path, ("png",))


def test_a_published_series_is_hollow_and_has_the_color_of_ours() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.lines())
    topoopt, ours, published = axes.get_lines()
    assert ours.get_color() == published.get_color() != topoopt.get_color()
    assert ours.get_markerfacecolor() == ours.get_color()
    assert published.get_markerfacecolor() == "none"
    assert ours.get_marker() != topoopt.get_marker()
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_published_bars_are_hollow() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.bars())
    ours, published = axes.containers
    assert to_hex(ours[0].get_facecolor()) == LIGHT[0].lower()
    assert to_hex(published[0].get_facecolor()) == "#ffffff"
    assert published[0].get_hatch()


@pytest.mark.parametrize("horizontal", [False, True])
def test_stacked_bars_stand_on_each_other(horizontal: bool) -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.bars(stacked=True, horizontal=horizontal))
    below, above = axes.containers
    assert [np.isnan(bar.get_height() if not horizontal else bar.get_width()) for bar in below] == [0, 0, 1]
    starts = [bar.get_x() if horizontal else bar.get_y() for bar in above]
    assert starts == [15, 20, 0]


def test_an_axis_of_paper_goes_as_far_as_that_of_the_screen() -> None:
    level = Series("level", (1, 10), (202.0, 202.0))
    axes = Figure().add_subplot()
    draw_on(axes, LineChart("level", "Level", "x", "time (ms)", (level,), y_from_zero=True))
    assert axes.get_ylim() == pytest.approx((0, 1.04 * 202))
    assert axes.get_xlim() == pytest.approx((0, 10.4))
    assert axes.get_ylabel() == "time"
    assert axes.yaxis.get_major_formatter()(200, 0) == "200 ms"


def test_a_limit_is_a_line_across_the_bars() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.memory())
    assert [line.get_xdata() for line in axes.get_lines()] == [[80.0, 80.0]]
    assert "an accelerator has 80 GiB" in {text.get_text() for text in axes.texts}


def test_many_servers_are_drawn_as_who_is_linked_with_whom() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.circle(128))
    dots = {line.get_label(): np.stack(line.get_data(), axis=1) for line in axes.get_lines()}
    assert {name: len(ends) for name, ends in dots.items()} == {"ring +1": 256, "ring +3": 256}
    assert {(int(dst) - int(src)) % 128 for dst, src in dots["ring +3"]} == {3, 125}
    laid = [np.asarray(inset.images[0].get_array()) for inset in axes.child_axes]
    assert [row.ravel().tolist() for row in laid] == [[i * step % 128 for i in range(128)] for step in (1, 3)]


def test_every_stage_is_a_box_with_what_it_holds() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.stages())
    said = [text.get_text() for text in axes.texts]
    assert [text for text in said if text.startswith("stage")] == [f"stage {index}" for index in range(4)]
    assert said.count("2 MB") == 3


def test_a_bar_of_colors_over_few_decades_has_plain_numbers() -> None:
    figure = Figure()
    chart = HeatmapChart("few", "Few", "x", "y", "MB", ((50.0, 420.0), (100.0, 200.0)), value_log=True)
    draw_on(figure.add_subplot(), chart)
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    ticks = figure.axes[1].yaxis.get_ticklabels(which="both")
    assert [label.get_text() for label in ticks if label.get_text()][-3:] == ["100 MB", "200 MB", "500 MB"]
    assert not any("times" in label.get_text() for label in ticks)


def test_a_log_axis_of_less_than_two_decades_is_labeled_between_the_powers_of_ten() -> None:
    servers = Series("price", (128, 432, 1024, 4096), (1.0, 3.0, 8.0, 30.0))
    figure = Figure()
    axes = figure.add_subplot()
    draw_on(axes, LineChart("cost", "Cost", "servers", "$", (servers,), x_log=True, y_log=True))
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    words = {label.get_text() for label in axes.get_xticklabels()}
    assert {"200", "500", "1000", "2000"} <= words


def test_words_on_the_axis_are_in_the_order_of_the_series() -> None:
    axes = Figure().add_subplot()
    draw_on(axes, charts.bars())
    assert [label.get_text() for label in axes.get_xticklabels()] == list(charts.MODELS)


def test_an_unknown_format_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r'format: unknown name "jpg".*pdf, png, svg'):
        draw_charts([charts.lines()], tmp_path / "figures", ("png", "jpg"))
    assert not (tmp_path / "figures").exists()


def _a_file(folder: Path) -> Path:
    (folder / "taken").write_text("")
    return folder / "taken"


def _under_a_file(folder: Path) -> Path:
    return _a_file(folder) / "figures"


@pytest.mark.parametrize("place", [_a_file, _under_a_file])
def test_a_folder_that_cannot_be_made_is_one_line(place: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        draw_charts([charts.lines()], place(tmp_path))
    assert "taken" in str(caught.value)
    assert "\n" not in str(caught.value)
