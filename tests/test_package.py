"""What `pip install toolcrib` brings along."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
LOOPS = Path("src/toolcrib/search/loops")


def test_the_wheel_holds_the_packages_with_the_model_and_nothing_else() -> None:
    packed = {Path(file.distribution_path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    model = {path.name for path in packed if path.parent == Path("toolcrib/search/model")}
    assert {path.parts[0] for path in packed} == {"toolcrib", "toolcrib_cms"}
    assert {"features.npy", "levels.npy", "scales.npy", "fusion.json", "VERSION"} <= model
    assert Path("toolcrib/py.typed") in packed
    assert not {path for path in packed if path.suffix in (".c", ".h")}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The project with nothing in it but what is compiled: a test that runs beside this one may use the real loops."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / LOOPS, tmp_path / LOOPS)
    for package in ("toolcrib", "toolcrib_cms"):
        (tmp_path / "src" / package).mkdir(exist_ok=True)
        (tmp_path / "src" / package / "__init__.py").touch()
    return tmp_path


def built(sources: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=sources, env=os.environ | environment, check=True, capture_output=True)
    (wheel,) = sources.glob("dist/*.whl")
    return wheel


@pytest.mark.skipif(shutil.which("cc") is None, reason="There is no C compiler.")
def test_a_wheel_with_the_compiled_loops_serves_every_python_of_one_platform(sources: Path) -> None:
    wheel = built(sources)
    assert "-cp311-abi3-" in wheel.name
    assert "toolcrib/search/_loops.abi3.so" in zipfile.ZipFile(wheel).namelist()


def test_without_a_compiler_the_wheel_is_python_alone(sources: Path) -> None:
    wheel = built(sources, CC=f"{sys.executable} -c exit(1)")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "_loops" in name]
