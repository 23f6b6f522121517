"""Convolutional networks: VGG and ResNet, as the TopoOpt authors train them and as they are published."""

import itertools
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import (
    Image,
    add,
    append,
    conv2d,
    dense,
    flatten,
    pool,
    pooled_to,
    relu,
    softmax,
)
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


@dataclass(frozen=True, slots=True)
class VggParameters:
    """Hyper-parameters of a VGG; defaults are the authors' VGG-16.

    Attributes
    ----------
    batch_per_accelerator : int
        Images per accelerator and iteration.
    image_size, classes : int
        Height and width of an image of three channels; outputs.
    blocks, channels : tuple of int
        Convolutions of each block and their channels; a pool ends each block.
    hidden : int
        Width of the two hidden dense layers.
    head_side : int
        Side that feature maps are pooled to before the dense layers, of a network as published: padding 1 and pools of
        2×2. 0 for the authors': padding 2, pools of 3×3, and all features to the dense layers.
    """

    batch_per_accelerator: int = 64
    image_size: int = 229
    classes: int = 1000
    blocks: tuple[int, ...] = (2, 2, 3, 3, 3)
    channels: tuple[int, ...] = (64, 128, 256, 512, 512)
    hidden: int = 4096
    head_side: int = 0

    def __post_init__(self) -> None:
        check_integers(self, zero_allowed=("head_side",))
        if len(self.blocks) != len(self.channels):
            raise InvalidInput(
                f"blocks and channels must be equally long, got {len(self.blocks)} and {len(self.channels)}"
            )


def vgg(name: str, p: VggParameters) -> OperatorGraph:
    """Return the network as an operator graph.

    References
    ----------
    .. [1] K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
           Recognition", ICLR 2015.
    """
    padding, window = (1, 2) if p.head_side else (2, 3)
    ops: list[Operator] = []
    image = Image(3, p.image_size)
    last: tuple[int, ...] = ()
    for block, (depth, channels) in enumerate(zip(p.blocks, p.channels, strict=True)):
        for i in range(depth):
            op, image = conv2d(
                f"block_{block}.{i}", last, image, channels, kernel=3, stride=1, padding=padding
            )
            last = (append(ops, op),)
        op, image = pool(f"block_{block}.pool", last[0], image, kernel=window, stride=2, padding=0)
        last = (append(ops, op),)
    if p.head_side:
        op, image = pooled_to("average", last[0], image, p.head_side)
        last = (append(ops, op),)
    last = (append(ops, flatten("flatten", last[0], image.elements)),)
    widths = (image.elements, p.hidden, p.hidden, p.classes)
    for i, (width_in, width_out) in enumerate(itertools.pairwise(widths)):
        last = (append(ops, dense(f"dense_{i}", last, width_in, width_out)),)
    append(ops, softmax("softmax", last[0], p.classes))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


VGG11 = ModelEntry(
    "VGG-11", "vision: as VGG-16, of 8 convolutions", vgg, published_variants("vgg11", VggParameters)
)
VGG16 = ModelEntry(
    "VGG-16", "vision: convolutions and a wide dense head", vgg, published_variants("vgg16", VggParameters)
)
VGG19 = ModelEntry(
    "VGG-19", "vision: as VGG-16, of 16 convolutions", vgg, published_variants("vgg19", VggParameters)
)


@dataclass(frozen=True, slots=True)
class ResnetParameters:
    """Hyper-parameters of a ResNet, without batch normalization; defaults are the authors' ResNet-50.

    Attributes
    ----------
    batch_per_accelerator : int
        Images per accelerator and iteration.
    image_size, classes : int
        Height and width of an image of three channels; outputs.
    stages : tuple of int
        Bottleneck blocks of each stage; stage s has 256·2^s channels on its way out.
    width : int
        Channels inside the bottlenecks of the first stage, doubled in each that follows.
    head_side : int
        Side that feature maps are pooled to before the classifier; 0 for the authors' window of 7×7.
    """

    batch_per_accelerator: int = 128
    image_size: int = 229
    classes: int = 10
    stages: tuple[int, ...] = (3, 4, 6, 3)
    width: int = 64
    head_side: int = 0

    def __post_init__(self) -> None:
        check_integers(self, zero_allowed=("head_side",))


def resnet(name: str, p: ResnetParameters) -> OperatorGraph:
    """Return the network as an operator graph: convolutions and a dense layer, each of a kernel and a bias.

    References
    ----------
    .. [1] K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
    .. [2] S. Zagoruyko and N. Komodakis, "Wide Residual Networks", BMVC 2016.
    """
    ops: list[Operator] = []
    op, image = conv2d("stem", (), Image(3, p.image_size), 64, kernel=7, stride=2, padding=3)
    last = append(ops, op)
    op, image = pool("stem_pool", last, image, kernel=3, stride=2, padding=1)
    last = append(ops, op)
    for stage, blocks in enumerate(p.stages):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            inner, out = p.width * 2**stage, 256 * 2**stage
            last, image = _bottleneck(ops, f"stage{stage}.{block}", last, image, (inner, out), stride)
    if p.head_side:
        op, image = pooled_to("average", last, image, p.head_side)
    else:
        op, image = pool("average", last, image, kernel=7, stride=1, padding=0)
    last = append(ops, op)
    last = append(ops, flatten("flatten", last, image.elements))
    last = append(ops, dense("classifier", (last,), image.elements, p.classes))
    append(ops, softmax("softmax", last, p.classes))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


def _bottleneck(
    ops: list[Operator], name: str, source: int, image: Image, channels: tuple[int, int], stride: int
) -> tuple[int, Image]:
    narrow, wide = channels
    op, inner = conv2d(f"{name}.reduce", (source,), image, narrow, kernel=1, stride=1, padding=0)
    last = append(ops, op)
    op, inner = conv2d(f"{name}.middle", (last,), inner, narrow, kernel=3, stride=stride, padding=1)
    last = append(ops, op)
    op, out = conv2d(f"{name}.expand", (last,), inner, wide, kernel=1, stride=1, padding=0)
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
    resnet,
    published_variants("resnet50", ResnetParameters),
)
WIDE_RESNET101 = ModelEntry(
    "Wide ResNet-101",
    "vision: residual convolutions of twice the width, 101 layers",
    resnet,
    published_variants("wide-resnet101", ResnetParameters),
)
