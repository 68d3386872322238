"""What the tests of search share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Helpers such as `model_server` stand beside the tests; `--import-mode=importlib` alone does not find them.
sys.path.insert(0, str(Path(__file__).parent))

from shelf import in_python


@pytest.fixture(scope="module", params=["compiled", "python"])
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Twice: with the compiled loops, and with the Python that does the same where they were not built."""
    if request.param == "python":
        with in_python():
            yield
        return
    pytest.importorskip("toolcrib.search._loops", reason="There was no C compiler when Toolcrib was installed.")
    yield
