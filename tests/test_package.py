"""What `pip install toolcrib` brings along."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[1]
LOOPS = Path("src/toolcrib/search/loops")


def test_the_wheel_holds_the_packages_with_the_model_and_nothing_else() -> None:
    packed = {Path(file.distribution_path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    model = {path.name for path in packed if path.parent == Path("toolcrib/search/model")}
    assert {path.parts[0] for path in packed} == {"toolcrib", "toolcrib_cms"}
    assert {"features.npy", "levels.npy", "scales.npy", "fusion.json", "VERSION"} <= model
    assert Path("toolcrib/py.typed") in packed
    assert not {path for path in packed if path.suffix in (".c", ".h")}


def test_the_sdist_holds_what_wheels_are_built_from_and_nothing_else() -> None:
    packed = {Path(file.distribution_path) for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    # hatchling adds `pyproject.toml`, the licence and the metadata
    assert {path.parts[0] for path in packed} == {"src", "hatch_build.py", "README.md", "CHANGELOG.md"}
    assert {LOOPS / "module.c", LOOPS / "loops.h"} <= packed


def test_the_readme_on_an_index_links_to_the_files_of_its_version() -> None:
    core = ProjectMetadata(str(ROOT), PluginManager()).core
    files = f"https://github.com/toolcrib/toolcrib/blob/v{core.version}"
    pictures = f"https://raw.githubusercontent.com/toolcrib/toolcrib/v{core.version}"
    assert core.readme_content_type == "text/markdown"
    assert f"[The documentation]({files}/docs/index.md)" in core.readme
    assert f'src="{pictures}/docs/assets/page-chat-light.png"' in core.readme
    assert not re.findall(r'\]\((?!https?:|#)|(?:src|srcset)="(?!https?:)', core.readme)


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


@pytest.mark.process
@pytest.mark.skipif(shutil.which("cc") is None, reason="There is no C compiler.")
def test_a_wheel_with_the_compiled_loops_serves_every_python_of_one_platform(sources: Path) -> None:
    wheel = built(sources)
    assert "-cp311-abi3-" in wheel.name
    assert "toolcrib/search/_loops.abi3.so" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.process
def test_without_a_compiler_the_wheel_is_python_alone(sources: Path) -> None:
    wheel = built(sources, CC=f"{sys.executable} -c exit(1)")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "_loops" in name]
