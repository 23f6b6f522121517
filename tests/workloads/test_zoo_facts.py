"""The models' bytes are those of the authors' scripts and released task graphs."""

import pytest

from topoopt.workloads import MODELS, Operator, ProfileTable, load_model, published_tables

VARIANTS = [variant.name for entry in MODELS.values() for variant in entry.variants]


def dense_bytes(width_in: int, width_out: int) -> int:
    return 4 * (width_in * width_out + width_out)


def tensors(name: str) -> int:
    return sum(len(op.weights) for op in load_model(name).operators if not op.is_embedding)


def operator(model: str, name: str) -> Operator:
    return next(op for op in load_model(model).operators if op.name == name)


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("dlrm-128", 1.2251),
        ("candle-128", 94.44),
        ("bert-128", 0.8055),
        ("ncf-128", 0.537),
        ("resnet50-128", 0.0943),
        ("vgg16-128", 1.1574),
        ("vgg16-16", 1.1574),
        ("candle-16", 4.753),
        ("bert-16", 0.2266),
        ("dlrm-16", 0.3063),
    ],
)
def test_allreduced_bytes_are_the_published_ones(name: str, gigabytes: float) -> None:
    digits = len(str(gigabytes).split(".")[1])
    assert round(load_model(name).dense_parameter_bytes / 1e9, digits) == gigabytes


MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "published", "unit", "tolerance"),
    [
        # torchvision's files: MiB of float32; Wide ResNet-101's is in half precision.
        ("vgg11-cassini", 507, MIB, 0.001),
        ("vgg16-cassini", 528, MIB, 0.001),
        ("vgg19-cassini", 549, MIB, 0.002),
        ("resnet50-cassini", 98, MIB, 0.007),
        ("wide-resnet101-cassini", 243, 2 * MIB, 0.005),
        # Hugging Face's files: MB. RoBERTa's 800 and CamemBERT's 266 are of no model of those names that we know.
        ("encoder-bert", 450, 10**6, 0.03),
        ("encoder-roberta", 800, 10**6, 0.025),
        ("encoder-camembert", 266, 10**6, 0.025),
        ("encoder-xlm", 1116, 10**6, 0.005),
    ],
)
def test_models_of_cassinis_evaluation_have_the_published_sizes(
    name: str, published: float, unit: int, tolerance: float
) -> None:
    graph = load_model(name)
    assert graph.dense_parameter_bytes == graph.parameter_bytes
    assert graph.parameter_bytes / unit == pytest.approx(published, rel=tolerance)


def test_dlrm_of_cassinis_evaluation_is_the_open_source_benchmark() -> None:
    graph = load_model("dlrm-cassini")
    pairs = (
        9 * 8 // 2
    )  # of eight tables and the dense features: what is concatenated here is multiplied there
    wider = 4 * 1024 * (8 * 64 - pairs)
    assert (graph.parameter_bytes - wider) / MIB == pytest.approx(1962, rel=0.001)


def test_published_networks_have_torchvisions_parameters() -> None:
    # Torchvision counts 132,863,336, 138,357,544 and 143,667,240, and of ResNets a scale and a shift where these have a
    # bias: 25,557,032 and 126,886,696.
    counted = {
        name: load_model(f"{name}-cassini").parameter_bytes // 4 for name in ("vgg11", "vgg16", "vgg19")
    }
    assert counted == {"vgg11": 132_863_336, "vgg16": 138_357_544, "vgg19": 143_667_240}
    for name, published in (("resnet50", 25_557_032), ("wide-resnet101", 126_886_696)):
        graph = load_model(f"{name}-cassini")
        biases = sum(op.weights[1].size_bytes // 4 for op in graph.operators if op.kind == "conv2d")
        assert graph.parameter_bytes // 4 + biases == published


def test_a_small_map_is_repeated_and_a_large_one_averaged() -> None:
    def before_the_head(image_size: int) -> tuple[str, int, int]:
        op = next(
            op for op in load_model("vgg16-cassini", image_size=image_size).operators if op.name == "average"
        )
        return op.kind, op.output_bytes_per_sample, int(op.forward_flops_per_sample)

    head_bytes = 4 * 512 * 7**2
    assert before_the_head(32) == ("concat", head_bytes, 0)
    assert before_the_head(224) == ("pool", head_bytes, 512 * 7**2)
    assert before_the_head(448) == ("pool", head_bytes, 512 * 14**2)


def test_gradients_of_the_alltoall_study_are_exact() -> None:
    assert load_model("dlrm-alltoall").dense_parameter_bytes == 1_359_273_988


def test_gradients_of_the_shared_dlrm_are_exact() -> None:
    assert load_model("dlrm-16").dense_parameter_bytes == 306_343_940


def test_ncf_follows_its_formula() -> None:
    expected = 4 * 2048 + dense_bytes(8192, 4096) + 6 * dense_bytes(4096, 4096) + dense_bytes(4097, 1)
    assert load_model("ncf").dense_parameter_bytes == expected


def test_candle_has_two_doses_and_a_last_layer_of_one() -> None:
    graph = load_model("candle-128")
    assert operator("candle-128", "concat").output_bytes_per_sample == 4 * 81_922
    assert graph.operators[-1].profile_key == "Dense_1_1"


def test_bert_has_134_tensors_and_resnet_108() -> None:
    assert (tensors("bert-128"), tensors("resnet50-128")) == (134, 108)


def test_vgg_has_a_kernel_and_a_bias_for_each_of_16_layers() -> None:
    assert tensors("vgg16") == 32
    assert operator("vgg16", "flatten").output_bytes_per_sample == 4 * 61_952


def test_resnet_ends_in_8192_features() -> None:
    assert operator("resnet50", "flatten").output_bytes_per_sample == 4 * 8192
    assert sum(op.kind == "conv2d" for op in load_model("resnet50").operators) == 53


@pytest.mark.parametrize(
    ("name", "tables", "size_bytes"),
    [
        ("dlrm-128", 64, 4 * 10_000_000 * 128),
        ("dlrm-16", 16, 4 * 10_000_000 * 256),
        ("dlrm-32", 32, 4 * 10_000_000 * 256),
        ("dlrm-alltoall", 128, 4 * 10_000_000 * 128),
        ("dlrm-testbed", 12, 4 * 100_000 * 32768),
    ],
)
def test_tables_have_their_rows_and_columns(name: str, tables: int, size_bytes: int) -> None:
    sizes = [op.parameter_bytes for op in load_model(name).operators if op.is_embedding]
    assert sizes == [size_bytes] * tables


def test_ncf_has_128_tables_of_64_and_128_columns() -> None:
    columns = [op.output_bytes_per_sample // 4 for op in load_model("ncf").operators if op.is_embedding]
    assert sorted(columns) == [64] * 64 + [128] * 64


@pytest.mark.parametrize("name", VARIANTS)
def test_tables_stand_first(name: str) -> None:
    placed = [op.is_embedding for op in load_model(name).operators]
    assert placed == sorted(placed, reverse=True)


@pytest.mark.parametrize("name", VARIANTS)
def test_all_operators_but_the_last_are_read_and_names_are_unique(name: str) -> None:
    graph = load_model(name)
    read = {producer for op in graph.operators for producer in op.inputs}
    assert read == set(range(len(graph.operators) - 1))
    assert len({op.name for op in graph.operators}) == len(graph.operators)


@pytest.mark.parametrize("name", VARIANTS)
def test_splits_follow_the_kind(name: str) -> None:
    allowed = {"embedding": {"rows", "columns"}, "dense": {"batch", "out", "in"}}
    for op in load_model(name).operators:
        assert op.splits == allowed.get(op.kind, {"batch"}), op.name


@pytest.mark.parametrize("table", published_tables(), ids=lambda t: f"{t.model}-{t.global_batch}")
def test_measured_names_are_exactly_the_models_profile_keys(table: ProfileTable) -> None:
    keys = {op.profile_key for op in load_model(table.model).operators}
    assert keys == set(table.measurements)


def test_global_batches_of_the_profiles_are_the_variants_own() -> None:
    variants = {v.name: v for entry in MODELS.values() for v in entry.variants}
    for table in published_tables():
        if table.model != "dlrm-alltoall":
            variant = variants[table.model]
            assert table.servers == variant.servers
            assert table.global_batch == variant.parameters.batch_per_accelerator * 4 * variant.servers


def test_operations_follow_from_shapes() -> None:
    assert operator("vgg16", "dense_0").forward_flops_per_sample == 2 * 61_952 * 4096
    assert operator("vgg16", "block_0.0").forward_flops_per_sample == 2 * 9 * 3 * 64 * 231**2
    assert operator("resnet50", "stem").forward_flops_per_sample == 2 * 49 * 3 * 64 * 115**2
    attention = operator("bert-128", "block_0.cross.attention").forward_flops_per_sample
    assert attention == 8 * 64 * 1024**2 + 4 * 64**2 * 1024
    assert operator("bert-128", "last").forward_flops_per_sample == 2 * 64 * 1024
    assert operator("dlrm-128", "table_0").forward_flops_per_sample == 100 * 128


def test_memory_of_the_first_convolution_is_the_measured_one() -> None:
    # The profile notes inputs, outputs and kernel of one accelerator's 64 images: see profiles/README.md.
    op = operator("vgg16", "block_0.0")
    table = next(t for t in published_tables() if t.model == "vgg16-128")
    measured = table.measurements["Conv2D_3_3_64"][0].memory_bytes
    assert measured == 64 * op.memory_traffic_bytes_per_sample + op.parameter_bytes
