"""``topoopt llm traffic``: the published table, matrices that plan reads, pictures, and one line for each mistake."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import Topoopt, instead

PAPER = (
    *(
        "llm",
        "traffic",
        "--zero",
        "0",
        "--no-sequence-parallel",
        "--layers",
        "56",
        "--hidden",
        "2000",
        "--heads",
        "16",
        "--vocabulary",
        "50304",
    ),
    *(
        "--seq",
        "1024",
        "--tp",
        "2",
        "--pp",
        "4",
        "--dp",
        "4",
        "--micro-batch",
        "32",
        "--global-batch",
        "1024",
    ),
    *("--recompute", "full", "--precision", "fp16", "--accelerators-per-server", "4"),
    *("--estimator", "apnet24"),
)
MIXTRAL = ("llm", "traffic", "mixtral-8x7b", "--accelerators", "32", "--pp", "2", "--ep", "8")


def document(topoopt: Topoopt, *words: str) -> dict[str, Any]:
    ran = topoopt(*words, "--json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_published_table_comes_out_on_the_command_line(topoopt: Topoopt) -> None:
    found = document(topoopt, *PAPER)
    rows = {
        (row["kind"], row["count"], round(row["message_bytes"] / 2**20, 2)) for row in found["first_stage"]
    }
    assert rows == {("tp", 680, 125.0), ("pp", 16, 125.0), ("dp", 1, 741.23), ("embedding", 1, 95.95)}
    shown = topoopt(*PAPER)
    assert shown.code == 0
    for words in ("125.00 MiB     680", "125.00 MiB      16", "741.23 MiB       1", "95.95 MiB       1"):
        assert words in shown.out


def test_matrices_of_servers_ranks_and_kinds_agree(topoopt: Topoopt) -> None:
    by = {
        word: document(topoopt, *PAPER, "--by", word)["matrix_bytes"] for word in ("server", "rank", "kind")
    }
    servers = by["server"]["server"]
    assert len(servers) == 8
    assert len(by["rank"]["rank"]) == 32
    of_kinds = [sum(map(sum, matrix)) for matrix in by["kind"].values()]
    assert sum(of_kinds) == pytest.approx(sum(map(sum, servers)))
    between = sum(
        size
        for src, row in enumerate(by["rank"]["rank"])
        for dst, size in enumerate(row)
        if src // 4 != dst // 4
    )
    assert between == pytest.approx(sum(map(sum, servers)))


def test_the_matrix_is_one_that_other_verbs_read(topoopt: Topoopt) -> None:
    ran = topoopt(*PAPER, "--csv", "servers.csv", "--json")
    matrix = json.loads(ran.out)["matrix_bytes"]["server"]
    with Path("servers.csv").open() as stream:
        assert [[int(cell) for cell in row] for row in csv.reader(stream)] == matrix
    moved = document(topoopt, "traffic", "servers.csv", "--degree", "2")
    assert moved["mp_bytes"] == sum(map(sum, matrix))


def test_kinds_are_rows_of_a_table(topoopt: Topoopt) -> None:
    assert topoopt(*MIXTRAL, "--by", "kind", "--csv", "kinds.csv").code == 0
    with Path("kinds.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["kind"] for row in rows} == {"pp", "dp"}
    assert all(row["src"] != row["dst"] and int(row["bytes"]) > 0 for row in rows)


def test_loads_of_experts_shape_the_exchange(topoopt: Topoopt) -> None:
    whole = (*MIXTRAL, "--by", "kind", "--accelerators-per-server", "1")
    even = document(topoopt, *whole)["matrix_bytes"]["ep"][0][1:8]
    uneven = document(topoopt, *whole, "--loads", "zipf:1.5", "--seed", "3")["matrix_bytes"]["ep"][0][1:8]
    later = document(topoopt, *whole, "--loads", "zipf:1.5", "--seed", "3", "--iteration", "3000")
    assert len(set(even)) == 1
    assert max(uneven) > 1.1 * min(uneven)
    evener = later["matrix_bytes"]["ep"][0][1:8]
    assert max(evener) / min(evener) < max(uneven) / min(uneven)


def test_slots_place_ranks_elsewhere(topoopt: Topoopt) -> None:
    Path("slots.txt").write_text("\n".join(str(4 * (rank % 8) + rank // 8) for rank in range(32)))
    in_order = document(topoopt, *PAPER)
    spread = document(topoopt, *PAPER, "--slots", "slots.txt")
    network = [{row["kind"]: row["network_bytes"] for row in one["kinds"]} for one in (in_order, spread)]
    assert network[0]["tp"] == 0 < network[1]["tp"]


def test_the_matrix_is_drawn(topoopt: Topoopt) -> None:
    ran = topoopt(*PAPER, "--by", "rank", "--heat-map", "ranks.png")
    assert (ran.code, "ranks.png" in ran.out) == (0, True)
    assert Path("ranks.png").read_bytes().startswith(b"\x89PNG")
    assert topoopt(*PAPER, "--by", "kind", "--heat-map", "kinds.html").code == 0
    page = Path("kinds.html").read_text()
    for words in (
        "data parallel",
        "pipeline",
        "tied embedding",
        "741.23 MiB",
        "leave servers in one iteration",
    ):
        assert words in page


def test_one_accelerator_sends_nothing(topoopt: Topoopt) -> None:
    ran = topoopt("llm", "traffic", "llama2-7b", "--accelerators", "1")
    assert ran.code == 0
    assert "nothing is sent" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "node"), '--by: unknown name "node"'),
        (("--by", ""), '--by: unknown name ""'),
        (("--order", "tp-dp-pp"), "such as tp-cp-ep-dp-pp"),
        (("--order", ""), "such as tp-cp-ep-dp-pp"),
        (("--loads", "even"), 'expected uniform, zipf, zipf:EXPONENT or a CSV file, got "even"'),
        (("--loads", ""), 'expected uniform, zipf, zipf:EXPONENT or a CSV file, got ""'),
        (("--iteration", "-1", "--loads", "zipf"), "--iteration: must be >= 0, got -1"),
        (("--iteration", "3"), "--iteration: is for loads that change"),
        (("--seed", "3"), "--seed: is for loads that change"),
        (("--seed", "-3", "--loads", "zipf"), "--seed: expected an integer >= 0, got -3"),
        (("--accelerators-per-server", "0"), "--accelerators-per-server: expected an integer >= 1, got 0"),
        (("--slots", "nowhere.txt"), "nowhere.txt: no such file"),
        (("--heat-map", "map.gif"), '--heat-map: format: unknown name "gif"'),
        (("--heat-map", ""), "--heat-map: expected a file name, got nothing"),
        (("--csv", "no/folder.csv"), "the folder no does not exist"),
        (("--heat-map", "map.png", "--accelerators-per-server", "32"), "no byte leaves a server"),
        (("--ep", "3"), "does not divide 8 experts"),
    ],
)
def test_a_mistake_is_one_line(topoopt: Topoopt, words: tuple[str, ...], message: str) -> None:
    ran = topoopt(*instead(MIXTRAL, *words))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert message in ran.err


@pytest.mark.parametrize(("text", "message"), [("0 1 x", 'got "x"'), ("0\n1\n", "each of 0..31 once, got 2")])
def test_a_mistake_in_slots_is_one_line(topoopt: Topoopt, text: str, message: str) -> None:
    Path("slots.txt").write_text(text)
    ran = topoopt(*MIXTRAL, "--slots", "slots.txt")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert message in ran.err


def test_a_dense_model_has_no_loads(topoopt: Topoopt) -> None:
    ran = topoopt("llm", "traffic", "llama2-7b", "--accelerators", "8", "--loads", "zipf")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "llama2-7b has no experts" in ran.err
