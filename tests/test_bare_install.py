"""What `pip install toolcrib` alone gives: every command and every public name works, or says which extra it needs."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from pkgutil import iter_modules
from shutil import copytree

import pytest
from packaging.requirements import Requirement

import toolcrib
from toolcrib.cli.main import VERBS

ROOT = Path(__file__).parents[1]
QUERIES = json.dumps({"text": "find an image", "relevant": ["cms_searchImages"]}) + "\n"
SERVERS = json.dumps({"mcpServers": {"clock": {"command": "clock-server"}}})
HINT = "hint: pip install 'toolcrib[{}]'"

# Each command with the extra that it needs; "" where it needs none.
COMMANDS = {
    "--help": "",
    "--version": "",
    "search 'znajdź zdjęcie'": "",
    "explain image cms_searchImages": "",
    "tools list": "",
    "tools show cms_searchImages": "",
    "check": "",
    "tokens": "",
    "bench --queries queries.jsonl": "",
    "bench --queries queries.jsonl --plot found.svg": "plot",
    "eval tasks.yaml": "evals",
    "eval new tasks.yaml": "evals",
    "schema": "",
    "new desk": "",
    "run desk/app.yaml --message hi": "agent",
    "chat --from tools.py --message hi": "agent",
    "chat --message hi": "demo",
    "demo": "demo",
    "serve": "demo",
    "serve --from tools.py": "server",
    "serve desk/app.yaml": "server",
    "gateway": "gateway",
    "gateway install cursor servers.json": "gateway",
    "gateway approve --lock crib.lock": "gateway",
    "sources servers.json": "gateway",
    "sources login clock servers.json": "gateway",
    "sources logout clock servers.json": "gateway",
    "catalog status --store postgresql:///crib": "postgres",
    "catalog publish --from tools.py --store postgresql:///crib": "postgres",
    "catalog approve clock --store postgresql:///crib": "postgres",
    "credentials list": "",
    "sessions list --store talks.db": "",
    "sessions list --store postgresql:///crib": "postgres",
    "store migrate --store talks.db": "",
    "store status --store talks.db": "",
    "store status --store postgresql:///crib": "postgres",
}
# The public names that need more than the wheel, by what their hint says to install. All others load.
AGENT = HINT.format("agent")
NEEDED = {
    "toolcrib": {AGENT: {"Crib", "CribToolset", "Limits", "confirm", "load_app", "run", "stream"}},
    "toolcrib.agent": {
        AGENT: {"Crib", "CribToolset", "Limits", "collect", "confirm", "model_for", "run", "stream"},
    },
    "toolcrib.apps": {AGENT: {"App", "load_app"}},
    "toolcrib.evals": {
        HINT.format("evals"): {
            "Arguments",
            "CalledTools",
            "EvalOptions",
            "EvalReport",
            "Experiment",
            "Outcome",
            "Refused",
            "Request",
            "State",
            "TaskSet",
            "Tokens",
            "load_tasks",
            "report_of",
            "run_eval",
        },
    },
    "toolcrib.gateway": {HINT.format("gateway"): {"Gateway", "Setup", "read_setup"}},
    "toolcrib.integrations": {
        AGENT: {"ToolcribSearch"},
        HINT.format("gateway"): {"ToolcribSearchTransform"},
        "hint: pip install langchain": {"ToolcribMiddleware"},
        "hint: pip install langgraph-bigtool": {"retrieve_tools_function"},
    },
    "toolcrib.server": {HINT.format("server"): {"Served", "create_app"}},
    "toolcrib.sources": {HINT.format("gateway"): {"McpSource", "saved_login"}},
}
# Everything that a user imports from: the front, the rooms, and the files beside them.
ROOMS = ["toolcrib", *(f"toolcrib.{found.name}" for found in iter_modules(toolcrib.__path__) if found.name[0] != "_")]

pytestmark = pytest.mark.process

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and what the wheel requires, copied from this one: no index is asked."""
    folder = tmp_path_factory.mktemp("bare")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=os.name != "nt")
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip())
    for package in required("toolcrib"):
        for top in tops(package):
            source = Path(str(package.locate_file(top)))
            if source.is_dir():
                copytree(source, site / top, dirs_exist_ok=True)
            else:
                (site / top).write_bytes(source.read_bytes())
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run([sys.executable, "-m", *install], check=True, capture_output=True)
    return python


def required(name: str) -> Iterator[Distribution]:
    """What a distribution needs without any extra, and what those need; not itself."""
    seen, waiting = {name}, [name]
    while waiting:
        for line in distribution(waiting.pop()).requires or ():
            need = Requirement(line)
            if need.name in seen or (need.marker and not need.marker.evaluate({"extra": ""})):
                continue
            seen.add(need.name)
            waiting.append(need.name)
            yield distribution(need.name)


def tops(package: Distribution) -> set[str]:
    """The files and folders of a distribution that stand at the top of `site-packages`."""
    if package.files is None:
        raise PackageNotFoundError(f"{package.name} does not list its files.")
    return {file.parts[0] for file in package.files if file.parts[0] not in ("..", "__pycache__")}


@pytest.fixture(scope="module")
def toolcrib_here(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command in a folder with an app, tools, labelled requests and servers."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "queries.jsonl").write_text(QUERIES, encoding="utf-8")
    (folder / "servers.json").write_text(SERVERS, encoding="utf-8")
    (folder / "tools.py").write_text("from toolcrib import Catalog\n\ncatalog = Catalog()\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLCRIB_", "PYTHON", "XDG_"))}
    environment = kept | {"HOME": str(folder), "PYTHONWARNINGS": "error"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(bare), *arguments]
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run


def test_every_command_gives_its_result_or_one_complete_hint(toolcrib_here: Run) -> None:
    verbs = {verb for group in VERBS.values() for verb in group}
    assert verbs <= {command.split()[0] for command in COMMANDS}
    seen: dict[str, str] = {}
    for command in COMMANDS:
        code = "import shlex, sys; from toolcrib.cli.main import main; sys.exit(main(shlex.split(sys.argv[1])))"
        ended = toolcrib_here("-c", code, command)
        if ended.returncode:
            error, _, seen[command] = ended.stderr.strip().partition("\n")
            assert error.startswith("error: "), f"{command}: {ended.stderr}"
    assert seen == {command: HINT.format(extra) for command, extra in COMMANDS.items() if extra}


def test_every_public_name_loads_or_says_what_to_install(toolcrib_here: Run) -> None:
    code = """
import json, sys
from importlib import import_module
needed = {}
for room in json.loads(sys.argv[1]):
    module = import_module(room)
    hints = {}
    for name in getattr(module, "_HOMES", ()):
        try:
            getattr(module, name)
        except ImportError as error:
            assert str(error).endswith(" needs packages that are not installed."), error
            [hint] = error.__notes__
            hints.setdefault(hint, []).append(name)
    needed[room] = hints
print(json.dumps(needed))
"""
    ended = toolcrib_here("-c", code, json.dumps(ROOMS))
    assert ended.stderr == ""
    needed = {
        room: {hint: set(names) for hint, names in hints.items()} for room, hints in json.loads(ended.stdout).items()
    }
    assert needed == {room: NEEDED.get(room, {}) for room in ROOMS}


def test_the_first_catalog_of_the_readme_runs(toolcrib_here: Run) -> None:
    ended = toolcrib_here(str(ROOT / "examples" / "first_catalog.py"))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_catalog_says_what_a_toolset_needs(toolcrib_here: Run) -> None:
    ended = toolcrib_here("-c", "from toolcrib import Catalog; Catalog().add_toolset(object())")
    told = ended.stderr.strip().splitlines()[-2:]
    assert "A toolset of Pydantic AI needs packages that are not installed." in told[0]
    assert "pip install 'toolcrib[agent]'" in told[1]
