"""Makes a release of what is committed: `make release VERSION=1.2.3`.

Writes the version into every place that names it, dates the changelog, commits `Version 1.2.3` and tags `v1.2.3`.
Nothing leaves this machine: pushing the tag does the rest (.github/workflows/release.yml). With `--notes` it changes
nothing and prints the changelog's section of the version that is checked out.
"""

import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
URL = "https://github.com/toolcrib/toolcrib"
NUMBER = r"\d+\.\d+\.\d+"
# Every place that names the version: the file, and what stands before each mention.
PLACES = {
    "pyproject.toml": r'^version = "',
    "server.json": r'^ +"version": "',
    "docs_src/runbook/upgrade_check.console": r"^toolcrib ",
    "docs/runbook/upgrade.md": r"^toolcrib ",
}
UNRELEASED = "## [Unreleased]\n"
SECTION = re.compile(rf"^## \[(Unreleased|{NUMBER})\].*\n((?:(?!## \[|\[[^\]]+\]: ).*\n)*)", re.MULTILINE)


class ReleaseError(Exception):
    """Why there is no release; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def release(root: Path, version: str, today: datetime.date) -> None:
    """Commit and tag, or refuse and leave everything as it is."""
    if not re.fullmatch(NUMBER, version):
        raise ReleaseError(f"{version!r} is not a version.", "make release VERSION=1.2.3")
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("There are changes that are not committed.", "Commit them, or put them away: git stash -u")
    tags = _git(root, "tag", "--list", "v*").split()
    if f"v{version}" in tags:
        raise ReleaseError(f"The tag v{version} exists already.", "A version is released once: choose a higher one.")
    released = [tag.removeprefix("v") for tag in tags if re.fullmatch(f"v{NUMBER}", tag)]
    highest = max([named_version(root), *released], key=_order)
    if _order(version) < _order(highest):
        raise ReleaseError(f"{version} is lower than {highest}.", f"Choose a version above {highest}.")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    if not section(text, "Unreleased"):
        raise ReleaseError(
            "The changelog has nothing under Unreleased.", "Say in CHANGELOG.md what users will notice, and commit it."
        )

    for name, before in PLACES.items():
        path = root / name
        bumped = re.sub(f"({before}){NUMBER}", rf"\g<1>{version}", path.read_text("utf-8"), flags=re.MULTILINE)
        path.write_text(bumped, encoding="utf-8")
    changelog.write_text(dated(text, version, today, max(released, key=_order, default=None)), encoding="utf-8")
    _git(root, "commit", "--quiet", "--all", "--message", f"Version {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"Toolcrib {version}")


def versions(root: Path) -> dict[str, set[str]]:
    """The versions that each place names; all are the same but in the midst of a release."""
    return {
        name: set(re.findall(f"{before}({NUMBER})", (root / name).read_text("utf-8"), re.MULTILINE))
        for name, before in PLACES.items()
    }


def named_version(root: Path) -> str:
    """The version of the package."""
    (version,) = versions(root)["pyproject.toml"]
    return version


def section(changelog: str, name: str) -> str:
    """What the changelog says of a version, or of what is `Unreleased`."""
    return next((text.strip() for found, text in SECTION.findall(changelog) if found == name), "")


def dated(changelog: str, version: str, today: datetime.date, previous: str | None) -> str:
    """The changelog with the unreleased section as that of the version, a new empty one above, and links for both."""
    changelog = changelog.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {today.isoformat()}\n", 1)
    lines = changelog.rstrip().splitlines()
    links = [line for line in lines if re.match(rf"\[{NUMBER}\]: ", line)]
    body = [line for line in lines if line not in links and not line.startswith("[Unreleased]: ")]
    changes = f"compare/v{previous}...v{version}" if previous else f"releases/tag/v{version}"
    links = [f"[Unreleased]: {URL}/compare/v{version}...HEAD", f"[{version}]: {URL}/{changes}", *links]
    return "\n".join(body).rstrip() + "\n\n" + "\n".join(links) + "\n"


def notes(root: Path, version: str) -> str:
    """What to say about the version that is checked out."""
    if version != (here := named_version(root)):
        raise ReleaseError(f"This is version {here}, not {version}.", f"make release VERSION={version} makes the tag.")
    text = section((root / "CHANGELOG.md").read_text("utf-8"), version)
    if not text:
        raise ReleaseError(f"The changelog says nothing about {version}.", "make release dates the changelog.")
    return text


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ReleaseError(f"`git {arguments[0]}` failed: {said}", "`git status` shows what was changed, if anything.")
    return done.stdout


def main(arguments: list[str]) -> None:
    """`release.py VERSION` or `release.py --notes VERSION`."""
    try:
        match arguments:
            case ["--notes", version]:
                print(notes(ROOT, version))
            case [version]:
                release(ROOT, version, datetime.datetime.now(datetime.UTC).date())
                print(f"Version {version} is committed and tagged. To publish it:")
                print(f"  git push --atomic origin HEAD v{version}")
            case _:
                raise ReleaseError("Which version?", "make release VERSION=1.2.3")
    except ReleaseError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
