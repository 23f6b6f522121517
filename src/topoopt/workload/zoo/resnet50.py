"""ResNet-50 as the authors train it: 229×229 images, no batch normalization, ten classes."""

from dataclasses import dataclass

from topoopt.workload.graph import Operator, OperatorGraph
from topoopt.workload.zoo.hyperparameters import check_integers
from topoopt.workload.zoo.layers import Image, add, append, conv2d, dense, flatten, pool, relu, softmax
from topoopt.workload.zoo.model_entry import ModelEntry, published_variants


@dataclass(frozen=True, slots=True)
class Resnet50Parameters:
    """Hyper-parameters of ResNet-50; defaults are the authors' for dedicated jobs of 128 servers.

    Attributes
    ----------
    batch_per_accelerator : int
        Images per accelerator and iteration.
    image_size, classes : int
        Height and width of an image of three channels; outputs.
    stages : tuple of int
        Bottleneck blocks of each stage; stage s has 64·2^s channels, four times as many on its way out.
    """

    batch_per_accelerator: int = 128
    image_size: int = 229
    classes: int = 10
    stages: tuple[int, ...] = (3, 4, 6, 3)

    def __post_init__(self) -> None:
        check_integers("resnet50", self)


def resnet50(name: str, p: Resnet50Parameters) -> OperatorGraph:
    """Return ResNet-50 as an operator graph: 53 convolutions and a dense layer, each of a kernel and a bias.

    References
    ----------
    .. [1] K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
    """
    ops: list[Operator] = []
    op, image = conv2d("stem", (), Image(3, p.image_size), 64, kernel=7, stride=2, padding=3)
    last = append(ops, op)
    op, image = pool("stem_pool", last, image, kernel=3, stride=2, padding=1)
    last = append(ops, op)
    for stage, blocks in enumerate(p.stages):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            last, image = _bottleneck(ops, f"stage{stage}.{block}", last, image, 64 * 2**stage, stride)
    op, image = pool("average", last, image, kernel=7, stride=1, padding=0)
    last = append(ops, op)
    last = append(ops, flatten("flatten", last, image.elements))
    last = append(ops, dense("classifier", (last,), image.elements, p.classes))
    append(ops, softmax("softmax", last, p.classes))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


def _bottleneck(
    ops: list[Operator], name: str, source: int, image: Image, channels: int, stride: int
) -> tuple[int, Image]:
    op, inner = conv2d(f"{name}.reduce", (source,), image, channels, kernel=1, stride=1, padding=0)
    last = append(ops, op)
    op, inner = conv2d(f"{name}.middle", (last,), inner, channels, kernel=3, stride=stride, padding=1)
    last = append(ops, op)
    op, out = conv2d(f"{name}.expand", (last,), inner, 4 * channels, kernel=1, stride=1, padding=0)
    last = append(ops, op)
    shortcut = source
    if stride > 1 or image.channels != out.channels:
        op, _ = conv2d(f"{name}.project", (source,), image, out.channels, kernel=1, stride=stride, padding=0)
        shortcut = append(ops, op)
    total = append(ops, add(f"{name}.add", (shortcut, last), out.elements))
    return append(ops, relu(f"{name}.relu", total, out.elements)), out


RESNET50 = ModelEntry(
    "ResNet-50",
    "vision: residual convolutions, bound by computation",
    resnet50,
    published_variants("resnet50", Resnet50Parameters),
)
