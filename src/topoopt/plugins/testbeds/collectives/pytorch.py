"""PyTorch, or a one-line error on its installation; and an all-to-all of its point-to-point messages."""

try:
    import torch
    import torch.distributed as dist
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    missing = 'topoopt.plugins.testbeds.collectives: PyTorch is not installed; pip install "topoopt[testbed]"'
    raise ModuleNotFoundError(missing, name="torch") from None

if not dist.is_available():
    raise ImportError(
        "topoopt.plugins.testbeds.collectives: this PyTorch was built without torch.distributed"
    )

__all__ = ("dist", "torch")
