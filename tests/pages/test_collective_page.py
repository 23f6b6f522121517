"""The page of a collective: in a terminal, in a notebook, and what its chart draws."""

import topoopt
from topoopt.pages import LineChart, page_of, page_text


def test_a_page_says_who_is_quickest_for_which_size() -> None:
    answer = topoopt.collective("allreduce", "1MB", servers=24, strides="1,3,4")
    assert isinstance(answer, topoopt.CollectiveAnswer)
    page = page_of(answer)
    said = page_text(page)
    assert "up to 72 MB" in said
    assert "from 72 MB on" in said
    assert page.key_numbers["time_s"] == answer.time_s(answer.chosen)
    assert "every shard arrives" in repr(answer)


def test_times_are_drawn_over_sizes() -> None:
    answer = topoopt.collective("all-to-all", "1MB", servers=9, wiring="torus")
    [chart] = page_of(answer).charts
    assert isinstance(chart, LineChart)
    assert [series.name for series in chart.series] == ["direct", "pairwise"]
    assert all(
        later > sooner
        for series in chart.series
        for sooner, later in zip(series.y, series.y[1:], strict=False)
    )


def test_the_frame_has_a_row_for_each_way() -> None:
    answer = topoopt.collective("allreduce", "1MB", servers=8, degree=2)
    assert isinstance(answer, topoopt.CollectiveAnswer)
    assert answer.to_frame()["schedule"].tolist() == [way.schedule for way in answer.ways]
