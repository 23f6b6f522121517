"""Public traces of jobs are read as they were released; what their jobs train is drawn and said.

Rows are made up in the form of the releases: Philly (ATC 2019), Alibaba PAI (NSDI 2022) and Acme (NSDI 2024).
"""

import json
from pathlib import Path

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.clusters import public_kind, read_public_trace, read_trace

ACME = """\
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,duration,queue
a,u1,2,8,32,Pretrain,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:01:00+08:00,600,60
b,u1,1,1,8,Debug,FAILED,2023-03-01 00:01:00+08:00,2023-03-01 00:01:00+08:00,10,0
c,u2,4,13,64,SFT,COMPLETED,2023-03-01 00:02:00+08:00,2023-03-01 00:02:00+08:00,900,0
d,u2,4,16,64,SFT,CANCELLED,2023-03-01 00:02:00+08:00,,,
"""
KALOS = """\
job_id,user,node_num,gpu_num,type,state,submit_time,start_time,end_time,duration,queue
k,u,8,64,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,18,10.0
"""
"""Times as Kalos' release has them: the duration counts from submit_time, the job ran from start_time."""
TASKS = """\
a,ps,1,Terminated,100.0,700.0,600.0,29.3,,
a,worker,3,Terminated,110.0,710.0,600.0,29.3,400.0,V100
a,chief,1,Terminated,105.0,705.0,600.0,29.3,50.0,V100
b,worker,1,Failed,120.0,,600.0,29.3,50.0,MISC
"""
PAI = "job_id,num_gpu,num_cpu,num_inst,submit_time,duration\na,2,6,5,7,60\nb,1,6,1,8,60\n"
TWO = [{"ip": f"m{number}", "gpus": [f"gpu{gpu}" for gpu in range(4)]} for number in range(2)]
PHILLY = json.dumps(
    [
        {
            "jobid": "a", "vc": "v", "user": "u", "status": "Pass", "submitted_time": "2017-10-09 07:02:00",
            "attempts": [
                {"start_time": "2017-10-09 07:03:00", "end_time": "2017-10-09 07:13:00", "detail": TWO},
                {"start_time": "2017-10-09 08:00:00", "end_time": "2017-10-09 08:01:00", "detail": TWO},
            ],
        },
        {"jobid": "b", "vc": "v", "user": "u", "status": "Killed", "submitted_time": "None", "attempts": []},
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "jobs"),
    [
        (ACME, "Acme", [("a", 2, 0, 600), ("c", 4, 120, 900)]),
        (KALOS, "Acme", [("k", 16, 0, 8)]),
        (TASKS, "Alibaba PAI's tasks", [("a", 4, 0, 605)]),
        (PAI, "Alibaba PAI", [("a", 3, 0, 60)]),
        (PHILLY, "Philly", [("a", 2, 0, 660)]),
    ],
)
def test_jobs_of_several_servers_come_with_their_size_and_run_time(
    tmp_path: Path, text: str, kind: str, jobs: list[tuple[str, int, float, float]]
) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    assert public_kind(path) == kind
    trace = read_public_trace(path, {"vgg16": 1}, 4)
    assert [(job.job, job.servers, job.arrival_s, job.duration_s) for job in trace.jobs] == jobs
    assert {job.model for job in trace.jobs} == {"vgg16"}
    assert f"({kind}: {len(jobs)} of " in trace.name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            KALOS.replace("start_time,end_time", "end_time,start_time"),
            "line 2: end_time: expected a time after start_time, got 2023-05-17 11:01:08+00:00",
        ),
        (
            KALOS.replace(",18,", ",19.5,"),
            "line 2: duration: expected 8, from start_time to end_time, got 19.5",
        ),
        (KALOS.replace(",18,", ",6,"), "line 2: duration: expected 8, from start_time to end_time, got 6"),
        (ACME.replace(",8,32", ",8.5,32"), 'line 2: gpu_num: expected an integer, got "8.5"'),
        (ACME.replace("900", "long"), 'line 4: duration: expected a number >= 0, got "long"'),
        (
            ACME.replace("2023-03-01 00:02:00+08:00,2023", "soon,2023"),
            "line 4: submit_time: expected a date and time",
        ),
        (ACME.replace(",13,", ",3,").replace(",8,32", ",1,32"), "0 of 4 jobs ran on several servers of 4"),
        (
            PHILLY.replace('"detail"', '"details"'),
            "[0]: expected a job with jobid, submitted_time and attempts",
        ),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_public_trace(path, {"vgg16": 1}, 4)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            ACME.replace("gpu_num", "gpu_nm"),
            'columns of Acme, but "gpu_num" is missing; did you mean it by "gpu_nm"?',
        ),
        (
            PAI.replace("num_gpu", "num_gpus"),
            'columns of Alibaba PAI, but "num_gpu" is missing; did you mean',
        ),
        (
            "job_name,inst_id,user,status,start_time,end_time\na,b,c,Failed,1,2\n",
            "table of jobs has no accelerators",
        ),
        ("a,b,c,Terminated,1.0,2.0\n", "table of jobs has no accelerators; give its table of tasks"),
    ],
)
def test_a_public_trace_without_a_column_is_known(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        topoopt.cluster.run(path, servers=8, mix="vgg16=1")
    assert says in str(caught.value)


def test_models_are_said_and_the_trace_can_be_kept(tmp_path: Path) -> None:
    path, kept = tmp_path / "acme.csv", tmp_path / "kept.csv"
    path.write_text(ACME)
    with pytest.raises(
        InvalidInput, match="a trace of Acme, which does not say what its jobs train; say by mix"
    ):
        topoopt.cluster.run(path, servers=8)
    with pytest.raises(InvalidInput, match="load: is for generate"):
        topoopt.cluster.run(path, servers=8, load=0.5, mix="vgg16=1")
    topoopt.cluster.run(path, servers=8, mix="vgg16=1", fabrics=["ideal-switch"], save_trace=str(kept))
    assert [job.servers for job in read_trace(kept).jobs] == [2, 4]
    assert not public_kind(kept)
