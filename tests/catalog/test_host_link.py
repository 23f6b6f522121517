"""Links to hosts, as the files of accelerators state them."""

from topoopt.catalog import find_accelerator, host_bytes_per_s


def test_a_part_has_the_link_of_its_generation_or_its_own() -> None:
    rates = {
        name: host_bytes_per_s(find_accelerator(name)) for name in ("v100", "a100", "h200", "gh200", "tpuv4")
    }
    assert rates == {"v100": 15.75e9, "a100": 31.5e9, "h200": 63e9, "gh200": 450e9, "tpuv4": None}
