"""``topoopt.cluster.run`` with a scheduler: words that go together, and one line for those that do not."""

import pytest

import topoopt

TRACE = "id,model,servers,arrival_s,iterations\na,vgg16-cassini,6,0,50\nb,resnet50-cassini,4,1,50\n"


@pytest.fixture
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("trace") / "t.csv"
    path.write_text(TRACE)
    return str(path)


def test_schedulers_are_compared_on_the_network_of_the_preset(trace: str) -> None:
    result = topoopt.cluster.run(trace, scheduler=["themis", "pollux+mltcp", "ideal"], cassini=True)
    names = [run.schedule.scheduler for run in result.fabrics if run.schedule]
    assert names == ["themis+cassini", "pollux+cassini+mltcp", "ideal"]
    assert (result.servers, result.degree, result.bandwidth_bps) == (24, 1, 50e9)
    assert result.settings["network"].startswith("cassini-24: 13 switches, 48 links of 50 Gb/s")


def test_a_scheduler_runs_on_another_network_too(trace: str) -> None:
    words = {"servers": 16, "degree": 1, "bandwidth": "25Gbps", "fabrics": ["oversub-fat-tree"]}
    result = topoopt.cluster.run(trace, scheduler=["random"], **words)  # type: ignore[arg-type]
    assert (result.servers, result.fabrics[0].fabric) == (16, "oversub-fat-tree")
    assert result.bandwidth_bps == 25e9


@pytest.mark.parametrize("merging", ["strict", "identical", "contained"])
def test_links_of_the_affinity_graph_are_merged_as_the_word_says(trace: str, merging: str) -> None:
    result = topoopt.cluster.run(trace, scheduler=["random+cassini"], merging=merging)
    (schedule,) = result.settings["schedules"]
    assert schedule["merging"] == merging
    assert result.fabrics[0].schedule is not None
    assert result.fabrics[0].schedule.compatibility is not None


def test_a_trace_can_be_drawn_for_the_workers_of_the_network() -> None:
    result = topoopt.cluster.run(generate=True, trace_preset="snapshot-1", scheduler=["proximity"])
    assert [job.model for job in result.fabrics[0].jobs] == ["wide-resnet101-cassini", "vgg16-cassini"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"scheduler": ["thems"]}, 'scheduler: unknown name "thems"; did you mean themis'),
        ({"scheduler": ["themis+casini"]}, 'scheduler: themis\\+casini: unknown name "casini"'),
        ({"scheduler": ["ideal+cassini"]}, "cassini: with scheduler ideal no job shares a link"),
        ({"scheduler": ["themis", "themis"]}, "scheduler: one stands twice; name each once"),
        (
            {"scheduler": ["themis"], "servers": 64},
            "servers: the network cassini-24 has its own; leave it out",
        ),
        ({"scheduler": ["themis"], "queue": "backfill"}, "queue: has no meaning with a scheduler"),
        ({"scheduler": ["themis"], "fabrics": ["topoopt"]}, 'fabric: unknown name "topoopt"'),
        ({"scheduler": ["themis"], "fabrics": ["rail", "torus"]}, "fabrics: with a scheduler one network"),
        ({"scheduler": ["themis"], "epoch": "0s"}, "epoch_s: expected a number > 0, got 0"),
        ({"scheduler": ["themis"], "sharing": "unfair"}, 'sharing: unknown name "unfair"'),
        (
            {"scheduler": ["themis+cassini"], "merging": "stric"},
            'merging: unknown name "stric"; did you mean strict',
        ),
        ({"scheduler": ["themis"], "merging": "strict"}, "merging: is for CASSINI; ask for it"),
        ({"scheduler": []}, "scheduler: name one"),
        ({"cassini": True}, "cassini: is for a scheduler; give one, such as scheduler=themis"),
        ({"epoch": "5s"}, "epoch: is for a scheduler"),
    ],
)
def test_words_that_do_not_go_together_are_one_line(
    trace: str, words: dict[str, object], message: str
) -> None:
    with pytest.raises(topoopt.InvalidInput, match=message):
        topoopt.cluster.run(trace, **words)  # type: ignore[arg-type]
