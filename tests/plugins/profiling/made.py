"""Profiles made by a law instead of a device: whatever is tested with them needs no PyTorch."""

from collections.abc import Callable

from topoopt.plugins.profiling import Subject
from topoopt.plugins.profiling.shapes import numbers_of
from topoopt.workloads import DeviceFacts, DeviceProfile, MeasuredOperator, PartSize, PartTime, signature_of

CPU = DeviceFacts("cpu", "Test CPU", "", "2.13.0", "fp32", 1)
H100 = DeviceFacts("cuda", "NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", "2.13.0", "bf16")

Law = Callable[[MeasuredOperator, PartSize], float]


def by_work(op: MeasuredOperator, size: PartSize) -> float:
    """Ten microseconds, and the operations and bytes of the part at 1 TFLOP/s and 1 TB/s."""
    amount = op.signature.forward_flops_per_sample + op.signature.memory_traffic_bytes_per_sample
    return 1e-5 + size.samples * amount / size.channel_degree * 1e-12


def made_profile(
    subject: Subject, device: DeviceFacts = CPU, law: Law = by_work, backward: float = 2.0
) -> DeviceProfile:
    """A whole profile of a subject; the backward pass takes ``backward`` times as long as the forward pass."""
    operators = []
    for op in subject.operators:
        bare = MeasuredOperator(
            op.operator.name, op.count, signature_of(op.operator), numbers_of(op.shape), {}, {}
        )
        times = {
            size: PartTime(law(bare, size), backward * law(bare, size), 0.0, 0.0, 5, 1000)
            for size in op.sizes
        }
        operators.append(MeasuredOperator(bare.name, bare.count, bare.signature, bare.shape, times, {}))
    return DeviceProfile(
        model=subject.model,
        source=subject.source,
        servers=subject.servers,
        accelerators_per_server=subject.accelerators_per_server,
        batch_per_accelerator=subject.batch_per_accelerator,
        device=device,
        operators=tuple(operators),
        hyperparameters=subject.hyperparameters,
        left_out=subject.left_out,
    )
