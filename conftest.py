"""What pytest leaves out where PyTorch is not installed: files that import it, whose doctests could not run."""

from importlib.util import find_spec

_TRAINING = ("forking", "programs", "real_training", "run_script", "small_models", "worker")

collect_ignore_glob = (
    []
    if find_spec("torch")
    else [
        "src/topoopt/plugins/testbeds/collectives/*",
        *(f"src/topoopt/plugins/testbeds/training/{name}.py" for name in _TRAINING),
        "tests/plugins/testbeds/collectives/member_programs.py",
    ]
)
