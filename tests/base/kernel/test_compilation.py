"""Who listens is told of kernels that are compiled, once, and of none that are ready."""

from numba import njit

from topoopt.base.kernel import on_compilation


def test_one_is_told_before_the_first_kernel_is_compiled_and_only_then() -> None:
    @njit()
    def more(number: int) -> int:
        return number + 1

    @njit()
    def twice(number: int) -> int:
        return 2 * number

    told: list[str] = []
    with on_compilation(lambda: told.append("compiling")):
        assert more(1) == 2
        assert twice(1) == 2
    assert told == ["compiling"]
    with on_compilation(lambda: told.append("again")):
        assert more(2) == 3
    assert told == ["compiling"]
