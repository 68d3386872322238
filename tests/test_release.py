"""`make release`, with a real git, in a repository that is thrown away."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "release.py"))
PLACES: dict[str, str] = SCRIPT["PLACES"]
CHANGELOG = """\
# Changelog

## [Unreleased]

### Added

- A door for cats.
"""
URL = "https://github.com/toolcrib/toolcrib"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that name the version, at 0.1.0, committed."""
    for name in ("Makefile", "scripts/release.py", *PLACES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        text = (tmp_path / name).read_text("utf-8")
        if before := PLACES.get(name):
            text = re.sub(rf"({before})\d+\.\d+\.\d+", r"\g<1>0.1.0", text, flags=re.MULTILINE)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # a hook of git that runs the tests says where its own repository is
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("TZ", "UTC")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A maintainer")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "maintainer@example.com")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True, text=True).stdout


def make_release(repository: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--silent", "release", f"VERSION={version}", f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True)


def add_to_changelog(repository: Path, line: str) -> None:
    path = repository / "CHANGELOG.md"
    path.write_text(path.read_text("utf-8").replace("## [Unreleased]\n", f"## [Unreleased]\n\n{line}\n"), "utf-8")
    git(repository, "commit", "--quiet", "--all", "--message", "Say what changed")


def test_a_release_names_its_version_everywhere_and_is_committed_and_tagged(repository: Path) -> None:
    done = make_release(repository, "0.2.0")

    assert (done.returncode, done.stderr) == (0, "")
    assert "git push --atomic origin HEAD v0.2.0" in done.stdout
    assert SCRIPT["versions"](repository) == {name: {"0.2.0"} for name in PLACES}
    assert git(repository, "log", "--format=%s") == "Version 0.2.0\nBegin\n"
    assert git(repository, "describe", "HEAD") == "v0.2.0\n"
    assert git(repository, "status", "--porcelain") == ""
    today = git(repository, "log", "-1", "--format=%cd", "--date=format:%Y-%m-%d", "HEAD").strip()
    assert (repository / "CHANGELOG.md").read_text("utf-8") == (
        f"# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - {today}\n\n### Added\n\n- A door for cats.\n\n"
        f"[Unreleased]: {URL}/compare/v0.2.0...HEAD\n[0.2.0]: {URL}/releases/tag/v0.2.0\n"
    )


def test_the_next_release_is_linked_to_the_one_before(repository: Path) -> None:
    make_release(repository, "0.9.0")
    add_to_changelog(repository, "- A door for dogs.")

    assert make_release(repository, "0.10.0").returncode == 0
    changelog = (repository / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(.*)\]", changelog, re.MULTILINE) == ["Unreleased", "0.10.0", "0.9.0"]
    assert changelog.endswith(
        f"- A door for cats.\n\n[Unreleased]: {URL}/compare/v0.10.0...HEAD\n"
        f"[0.10.0]: {URL}/compare/v0.9.0...v0.10.0\n[0.9.0]: {URL}/releases/tag/v0.9.0\n"
    )
    assert SCRIPT["notes"](repository, "0.10.0") == "- A door for dogs."


def test_the_version_of_the_tree_can_be_released_while_it_has_no_tag(repository: Path) -> None:
    assert make_release(repository, "0.1.0").returncode == 0
    assert git(repository, "tag", "--list") == "v0.1.0\n"


@pytest.mark.parametrize(
    ("version", "error", "hint"),
    [
        ("", "'' is not a version.", "make release VERSION=1.2.3"),
        ("v0.2.0", "'v0.2.0' is not a version.", "make release VERSION=1.2.3"),
        ("0.2", "'0.2' is not a version.", "make release VERSION=1.2.3"),
        ("0.0.9", "0.0.9 is lower than 0.3.0.", "Choose a version above 0.3.0."),
        ("0.2.0", "0.2.0 is lower than 0.3.0.", "Choose a version above 0.3.0."),
        ("0.3.0", "The tag v0.3.0 exists already.", "A version is released once: choose a higher one."),
    ],
)
def test_a_wrong_version_is_refused(repository: Path, version: str, error: str, hint: str) -> None:
    git(repository, "tag", "v0.3.0")
    assert_refused(repository, version, error, hint)


def test_what_is_not_committed_is_not_released(repository: Path) -> None:
    (repository / "new.txt").touch()
    hint = "Commit them, or put them away: git stash -u"
    assert_refused(repository, "0.2.0", "There are changes that are not committed.", hint)


def test_a_release_that_nobody_would_notice_is_refused(repository: Path) -> None:
    make_release(repository, "0.2.0")
    hint = "Say in CHANGELOG.md what users will notice, and commit it."
    assert_refused(repository, "0.3.0", "The changelog has nothing under Unreleased.", hint)


def assert_refused(repository: Path, version: str, error: str, hint: str) -> None:
    before = state(repository)
    done = make_release(repository, version)

    assert done.returncode != 0
    assert done.stderr.startswith(f"error: {error}\nhint: {hint}\n")
    assert state(repository) == before


def state(repository: Path) -> list[str]:
    shown = (["rev-parse", "HEAD"], ["tag", "--list"], ["status", "--porcelain"], ["diff"])
    return [git(repository, *arguments) for arguments in shown]


def test_notes_are_of_the_version_that_is_checked_out(repository: Path) -> None:
    def notes(version: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "scripts/release.py", "--notes", version]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True)

    assert notes("0.1.0").stderr.startswith("error: The changelog says nothing about 0.1.0.\nhint: ")
    make_release(repository, "0.2.0")
    assert notes("0.2.0").stdout == "### Added\n\n- A door for cats.\n"
    assert notes("0.3.0").stderr.startswith("error: This is version 0.2.0, not 0.3.0.\nhint: ")


def test_all_places_name_the_same_version() -> None:
    version = SCRIPT["named_version"](ROOT)
    assert SCRIPT["versions"](ROOT) == {name: {version} for name in PLACES}


def test_no_other_page_or_example_names_the_version() -> None:
    version = re.escape(SCRIPT["named_version"](ROOT))
    folders = ("docs", "docs_src", "deploy", "examples", ".github")
    files = [ROOT / "README.md", *(file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file())]
    texts = {file: file.read_text("utf-8", errors="ignore") for file in files}
    naming = {file.relative_to(ROOT).as_posix() for file in files if re.search(rf"toolcrib\W+v?{version}", texts[file])}
    assert naming <= set(PLACES)
