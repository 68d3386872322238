"""What `pip install toolcrib` brings along."""

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_the_packages_with_the_model_and_nothing_else() -> None:
    packed = {Path(file.distribution_path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    model = {path.name for path in packed if path.parent == Path("toolcrib/search/model")}
    assert {path.parts[0] for path in packed} == {"toolcrib", "toolcrib_cms"}
    assert {"features.npy", "levels.npy", "scales.npy", "fusion.json", "VERSION"} <= model
    assert Path("toolcrib/py.typed") in packed
