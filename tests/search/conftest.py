"""What the tests of search share."""

from collections.abc import Iterator

import pytest

from tests.support.search import in_python


@pytest.fixture(scope="module", params=["compiled", "python"])
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Twice: with the compiled loops, and with the Python that does the same where they were not built."""
    if request.param == "python":
        with in_python():
            yield
        return
    pytest.importorskip("toolcrib.search.kernels._loops", reason="There was no C compiler when Toolcrib was installed.")
    yield
