"""More than a hundred ways out of the work folder, and none of them leads anywhere."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.support import PATIENCE
from tests.support.calls import Calls

SECRET = "the secret outside"
NAMES = ("out", "abs", "up", "chain", "through", "proc_root", "proc_cwd", "prefix", "sub/deep_out", "slashes", "dots")

# `{outside}` and `{root}` become the real folders; `secret.txt` is there to be read, `new.txt` to be made.
ATTEMPTS = [
    *("../outside/{}", "../../{base}/outside/{}", "./../outside/{}", "sub/../../outside/{}", "sub/../../outside/./{}"),
    *("sub/deep/../../../outside/{}", ".//..//outside/{}", "../outside/../outside/{}", "sub/../sub/../../outside/{}"),
    *("{outside}/{}", "/{outside}/{}", "//{outside}/{}", "{root}/../outside/{}", "{root}/sub/../../outside/{}"),
    *("{root}/./../outside/{}", "{root}//..//outside/{}", "{root}-evil/{}", "{root}/../{rootname}-evil/{}"),
    *("file://{outside}/{}", "~/{}", "~root/{}", "~", "$HOME/{}", "${{HOME}}/{}", "%HOME%/{}", "`pwd`/../outside/{}"),
    *("..\\outside\\{}", "sub\\..\\..\\outside\\{}", "..\\..\\{}", "C:\\{}", "C:/{}", "c:{}", "Z:/outside/{}"),
    *("\\\\server\\share\\{}", "//server/share/{}", "\\\\?\\C:\\{}", "\\\\.\\pipe\\{}", "//./{}", "/dev/{}"),
    *("../outside/{}\0", "\0../outside/{}", "sub\0/../../outside/{}", "../outside/{}\n", "\n../outside/{}", "..\t/{}"),
    *("..%2foutside%2f{}", "%2e%2e/outside/{}", "..%252foutside/{}", "..%c0%af/outside/{}", "%2e%2e%2foutside%2f{}"),
    *("..;/outside/{}", "..../outside/{}", "....//outside/{}", ".../outside/{}", ".. /outside/{}", " ../outside/{}"),
    *("．．/outside/{}", "‥/outside/{}", "..／outside／{}", "..∕outside∕{}", "․․/outside/{}", ".\u200b./outside/{}"),
    *("\ufeff../outside/{}", "..\u202e/outside/{}", "\ud800/../../outside/{}", "..\udcff/outside/{}"),
    *("OUT/../../outside/{}", "Out/{}", "SUB/../../outside/{}", "../OUTSIDE/{}", "{upper}/../outside/{}"),
    *("/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/1/cwd/{}", "/dev/stdin", "/dev/fd/0"),
    *(
        "../../../../../../../../etc/passwd",
        "sub/" + "../" * 40 + "etc/passwd",
        "/",
        "//",
        "..",
        "../",
        "../..",
        "sub/../..",
    ),
    *(f"{name}/{{}}" for name in NAMES),
    *(f"{name}/../outside/{{}}" for name in NAMES),
    *("file_out", "dangling_out", "loop", "loop/{}", "self/self/out/{}", "self/../../outside/{}", "sub/back/out/{}"),
    *("sub/back/../outside/{}", "inner/../../outside/{}", "root_abs/../outside/{}", "root_abs/out/{}"),
    *("a" * 5000, "../" * 2000 + "{}", "sub/" + "x/../" * 100 + "../outside/{}", "con/../../outside/{}"),
]


class Scene:
    """A work folder full of traps, and what lies around it."""

    def __init__(self, base: Path) -> None:
        self.base, self.outside, self.root = base, base / "outside", base / "work"
        evil = base / "work-evil"
        for folder in (self.outside, evil, self.root / "sub" / "deep", self.root / "inner"):
            folder.mkdir(parents=True)
        for folder in (self.outside, evil, base):
            (folder / "secret.txt").write_text(SECRET)
        links = {
            "out": "../outside",
            "abs": str(self.outside),
            "up": "..",
            "chain": "through",
            "through": "sub/deep/../../out",
            "proc_root": f"/proc/self/root{self.outside}",
            "proc_cwd": "/proc/self/cwd",
            "prefix": f"{self.root}-evil",
            "sub/deep_out": "../../outside",
            "slashes": "..//./outside//",
            "dots": "sub/deep/../../../outside",
            "file_out": "../outside/secret.txt",
            "dangling_out": "../outside/new.txt",
            "loop": "loop",
            "self": ".",
            "sub/back": "..",
            "root_abs": str(self.root),
        }
        for name, target in links.items():
            (self.root / name).symlink_to(target)
        self.before = self.around()

    def around(self) -> dict[str, str]:
        """Everything outside of the work folder."""
        found = (path for path in self.base.rglob("*") if self.root not in (path, *path.parents))
        return {str(path): path.read_text() if path.is_file() else "" for path in found}

    def path(self, attempt: str, name: str) -> str:
        texts = {"outside": self.outside, "root": self.root, "rootname": self.root.name, "base": self.base.name}
        return attempt.format(name, **texts, upper=str(self.root).upper())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_there_are_more_than_a_hundred_attempts() -> None:
    assert len(set(ATTEMPTS)) > 100


@pytest.mark.process
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda text: ascii(text)[:60])
async def test_no_path_leads_out(scene: Scene, attempt: str) -> None:
    files = Calls("filesystem", scene.root)
    inside = await files.done("fs_write", path="mine.txt", content="mine")
    secret, new = scene.path(attempt, "secret.txt"), scene.path(attempt, "new.txt")
    assert inside["path"] == "mine.txt"

    results = [
        await files.run("fs_read", path=secret),
        await files.run("fs_grep", pattern="secret", path=secret),
        await files.run("fs_edit", path=secret, old="secret", new="gone"),
    ]
    assert [result.failed for result in results] == [True, True, True]
    results += [
        await files.run("fs_write", path=secret, content="overwritten", overwrite=True),
        await files.run("fs_write", path=new, content="made"),
        await files.run("fs_move", source=secret, destination="stolen.txt"),
        await files.run("fs_move", source="mine.txt", destination=new),
        await files.run("fs_mkdir", path=new + "/folder"),
        await files.run("fs_list", path=secret),
        await files.run("fs_glob", pattern="**/*.txt", path=secret),
        await files.run("fs_glob", pattern=secret),
        await files.run("fs_delete", path=new, recursive=True),
        await files.run("fs_delete", path=secret, recursive=True),
    ]
    assert [result.text for result in results if SECRET in result.text or "root:" in result.text] == []
    assert scene.around() == scene.before


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
async def test_folders_behind_links_are_neither_listed_nor_searched(scene: Scene, name: str) -> None:
    files = Calls("filesystem", scene.root)
    for tool, arguments in [("fs_list", {}), ("fs_glob", {"pattern": "**/*"}), ("fs_grep", {"pattern": "secret"})]:
        assert "outside the work folder" in await files.refused(tool, path=name, **arguments)


@pytest.mark.process
async def test_a_search_through_everything_does_not_follow_links(scene: Scene) -> None:
    for ripgrep in (True, False):
        files = Calls("filesystem", scene.root, ripgrep=ripgrep)
        assert await files.done("fs_grep", pattern="secret") == {"matches": [], "cut": False}
    assert (await files.done("fs_glob", pattern="**/secret.txt"))["paths"] == []


async def test_deleting_or_moving_a_link_leaves_alone_what_it_points_to(scene: Scene) -> None:
    files = Calls("filesystem", scene.root)
    await files.done("fs_delete", path="out", recursive=True)
    await files.done("fs_move", source="file_out", destination="sub/moved_out")
    assert (scene.root / "sub" / "moved_out").is_symlink()
    await files.done("fs_delete", path="sub", recursive=True)
    assert scene.around() == scene.before


async def test_links_that_stay_inside_work(scene: Scene) -> None:
    files = Calls("filesystem", scene.root)
    await files.done("fs_write", path="self/sub/back/inner/../inner/note.txt", content="hello")
    (scene.root / "note").symlink_to(scene.root / "inner" / "note.txt")
    assert (await files.done("fs_read", path="root_abs/note"))["path"] == "inner/note.txt"
    await files.done("fs_edit", path="note", old="hello", new="bye")
    assert (scene.root / "note").is_symlink()
    assert (scene.root / "inner" / "note.txt").read_text() == "bye"
    assert (await files.done("fs_read", path=f"{scene.root}/note"))["text"] == "bye"
    (scene.root / "sub" / "deep" / "home").symlink_to(scene.root)
    assert (await files.done("fs_read", path="sub/deep/home/note"))["path"] == "inner/note.txt"


@pytest.mark.process
async def test_a_folder_swapped_for_a_link_again_and_again_shows_nothing(scene: Scene) -> None:
    """Somebody in the work folder swaps `race` for a link to the outside while we read and write there."""
    root = scene.root
    (root / "race").mkdir()
    (root / "race" / "secret.txt").write_text("harmless")
    (root / "bait").symlink_to(scene.outside)
    (root / "current").symlink_to("race")
    stop, swaps = threading.Event(), [0]

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "race", root / "aside")
            os.rename(root / "bait", root / "race")
            os.rename(root / "race", root / "bait")
            os.rename(root / "aside", root / "race")
            for target in ("../outside", "inner"):
                os.symlink(target, root / "next")
                os.replace(root / "next", root / "current")
            swaps[0] += 1

    files = Calls("filesystem", root)
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        texts: list[str] = []
        for number in range(300):
            texts.append((await files.run("fs_read", path="race/secret.txt")).text)
            await files.run("fs_edit", path="race/secret.txt", old="e", new="e!")
            await files.run("fs_write", path=f"current/new{number}.txt", content="made")
            texts.append((await files.run("fs_read", path="current/secret.txt")).text)
        texts += [(await files.run("fs_grep", pattern="secret|harm")).text for _ in range(5)]
    finally:
        stop.set()
        swapper.join(PATIENCE)
    assert swaps[0] > 10
    assert [text for text in texts if SECRET in text] == []
    assert any("harm" in text for text in texts)
    assert scene.around() == scene.before


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    parts=st.lists(
        st.sampled_from(
            ["..", ".", "", "sub", "deep", "outside", "secret.txt", *NAMES, "self", "loop", "root_abs", "é"]
        ),
        min_size=1,
        max_size=8,
    ),
    front=st.sampled_from(["", "", "/", "{root}/", "{outside}/"]),
)
def test_no_mixture_of_links_and_dots_leads_out(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], front: str
) -> None:
    import asyncio

    scene = _shared_scene(tmp_path_factory)
    path = scene.path(front, "") + "/".join(parts)
    result = asyncio.run(Calls("filesystem", scene.root).run("fs_read", path=path))
    assert SECRET not in result.text
    assert result.failed


_SCENES: list[Scene] = []


def _shared_scene(factory: pytest.TempPathFactory) -> Scene:
    if not _SCENES:
        _SCENES.append(Scene(factory.mktemp("scene")))
    return _SCENES[0]
