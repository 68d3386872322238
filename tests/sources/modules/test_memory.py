"""The module `memory`: notes that stay, recalled by what they mean."""

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import Calls
from toolcrib.errors import ModuleError
from toolcrib.search.index import ToolIndex
from toolcrib.sources.modules.notes import Note, NoteChange, NoteFeed

FACTS = [
    "The user prefers tea over coffee",
    "Anna's birthday is on 3 May",
    "The staging server listens on port 8080",
    "We ship the release on Fridays",
    "The dog is called Bruno",
]


def texts(told: dict[str, Any]) -> list[str]:
    return [note["text"] for note in told["notes"]]


async def with_facts(calls: Calls) -> Calls:
    for fact in FACTS:
        await calls.done("memory_remember", text=fact)
    return calls


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("what does the user like to drink", FACTS[0]),
        ("when was Anna born", FACTS[1]),
        ("kiedy są urodziny Anny", FACTS[1]),
        ("name of the pet", FACTS[4]),
    ],
)
async def test_a_fact_is_recalled_by_what_it_means(tmp_path: Path, query: str, fact: str) -> None:
    memory = await with_facts(Calls("memory", tmp_path, index=ToolIndex))
    assert texts(await memory.done("memory_recall", query=query))[0] == fact


async def test_what_was_never_said_is_not_recalled(tmp_path: Path) -> None:
    memory = await with_facts(Calls("memory", tmp_path, index=ToolIndex))
    told = await memory.done("memory_recall", query="quantum chromodynamics")
    assert told == {"notes": [], "note": "Nothing is remembered about this, among 5 notes."}


@pytest.mark.parametrize("index", [ToolIndex, None], ids=["by meaning", "by words"])
async def test_what_is_remembered_or_forgotten_later_counts_at_once(tmp_path: Path, index: Any) -> None:
    memory = await with_facts(Calls("memory", tmp_path, index=index))
    assert texts(await memory.done("memory_recall", query="birthday of Anna"))[0] == FACTS[1]
    new = await memory.done("memory_remember", text="Zofia has her birthday in June", topic="family")
    assert texts(await memory.done("memory_recall", query="birthday Zofia", limit=1)) == [new["text"]]
    assert await memory.done("memory_forget", id=new["id"]) == {"forgotten": {k: new[k] for k in new if k != "new"}}
    assert new["text"] not in texts(await memory.done("memory_recall", query="birthday Zofia"))


async def test_without_an_index_words_decide(tmp_path: Path) -> None:
    memory = await with_facts(Calls("memory", tmp_path))
    await memory.done("memory_remember", text="Łódź ma nowe lotnisko")
    assert texts(await memory.done("memory_recall", query="which PORT do servers have?")) == [FACTS[2]]
    assert texts(await memory.done("memory_recall", query="lodz lotnisku")) == ["Łódź ma nowe lotnisko"]
    assert texts(await memory.done("memory_recall", query="?!")) == []


async def test_notes_outlive_the_process_and_scopes_are_apart(tmp_path: Path) -> None:
    await with_facts(Calls("memory", tmp_path, scope="app/anna"))
    again = Calls("memory", tmp_path, scope="app/anna")
    assert texts(await again.done("memory_list")) == FACTS[::-1]
    assert texts(await Calls("memory", tmp_path, scope="app/ben").done("memory_list")) == []


async def test_a_fact_is_kept_once(tmp_path: Path) -> None:
    memory = Calls("memory", tmp_path)
    first = await memory.done("memory_remember", text="Tea,  not\u200b coffee\x07", topic="taste")
    assert (first["text"], first["topic"], first["new"]) == ("Tea, not coffee", "taste", True)
    assert first["since"] == datetime.now(UTC).date().isoformat()
    assert await memory.done("memory_remember", text="tea, not COFFEE") == {**first, "new": False}
    results = await asyncio.gather(*(memory.done("memory_remember", text="same") for _ in range(5)))
    assert len({result["id"] for result in results}) == 1


async def test_notes_are_listed_newest_first_by_topic(tmp_path: Path) -> None:
    memory = Calls("memory", tmp_path)
    for text, topic in [("a", "x"), ("b", "y"), ("c", "X")]:
        await memory.done("memory_remember", text=text, topic=topic)
    assert texts(await memory.done("memory_list", topic="x")) == ["c", "a"]
    assert (await memory.done("memory_list", limit=1))["more"] == 2
    assert await memory.done("memory_list", topic="z") == {"notes": [], "more": 0, "topics": ["X", "x", "y"]}


async def test_what_cannot_be_done_is_refused_with_advice(tmp_path: Path) -> None:
    memory = Calls("memory", tmp_path, max_notes=1)
    note = await memory.done("memory_remember", text="one")
    said = await memory.refused("memory_remember", text="two")
    assert said == "The memory is full: 1 notes. Ask the user what may go, and forget it with memory_forget."
    assert "There is nothing to remember." in await memory.refused("memory_remember", text=" \u200b ")
    assert f"Did you mean '{note['id']}'?" in await memory.refused("memory_forget", id=note["id"][:-1])
    assert "Find its id with memory_recall" in await memory.refused("memory_forget", id="xyz")


async def test_a_damaged_file_is_told_and_a_link_out_of_the_folder_refused(tmp_path: Path) -> None:
    memory = Calls("memory", tmp_path)
    await memory.done("memory_remember", text="one")
    with sqlite3.connect(tmp_path / ".toolcrib" / "memory.db") as opened:
        assert opened.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    opened.close()
    (tmp_path / ".toolcrib" / "memory.db").write_bytes(b"no database at all" * 100)
    assert "The notes cannot be reached: file is not a database." in await memory.refused("memory_list")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".toolcrib").symlink_to(tmp_path)
    with pytest.raises(ModuleError, match="outside the work folder"):
        Calls("memory", tmp_path / "work")


class Kept:
    """A place for notes that somebody hands in."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    async def load(self) -> Sequence[Note]:
        return list(self.notes)

    async def add(self, note: Note) -> None:
        self.notes.append(note)

    async def remove(self, id: str) -> None:
        self.notes = [note for note in self.notes if note.id != id]


async def test_a_place_of_ones_own_can_be_handed_in(tmp_path: Path) -> None:
    kept = Kept()
    memory = await with_facts(Calls("memory", tmp_path, store=kept))
    assert [note.text for note in kept.notes] == FACTS
    await memory.done("memory_forget", id=kept.notes[0].id)
    assert [note.text for note in kept.notes] == FACTS[1:]
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


async def test_a_note_cannot_be_called_and_a_follower_can_leave() -> None:
    feed, steps = NoteFeed(), list[NoteChange]()
    leave = feed.subscribe(steps.append, replay=True)
    feed.follow([Note(id="note_1", text="one", created_at=datetime.now(UTC))])
    leave()
    feed.follow([])
    [nothing, step] = steps
    assert (nothing, step.removed) == (NoteChange(added=[]), [])
    assert (await step.added[0].call({})).text == "This is a note, not a tool."


async def test_an_index_reads_the_words_of_a_note_and_never_the_letters_of_its_id() -> None:
    feed, steps = NoteFeed(), list[NoteChange]()
    feed.subscribe(steps.append)
    one, other = (Note(id=f"note_{id}", text=id, created_at=datetime.now(UTC)) for id in ("beef", "cafe"))
    feed.follow([one, other])
    feed.follow([other])
    feed.follow([other, one])
    assert [([tool.name for tool in step.added], step.removed) for step in steps] == [
        (["n1", "n2"], []),
        ([], ["n1"]),
        (["n3"], []),
    ]
    assert [note.id for note in feed.notes.values()] == ["note_cafe", "note_beef"]
