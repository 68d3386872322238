"""What models read about the tools of the modules, what it costs, and that people find them by it."""

# ruff: noqa: E501 - whole lines, as a model reads them

import asyncio
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.render import signature
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.tokens import count_tokens, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.sources.modules.registry import module
from toolcrib.tools.tool import Risk, Tool


def every_tool(workdir: Path) -> list[Tool]:
    options = {"web": {"search_provider": "brave", "search_key": "k"}}
    return [
        tool
        for name in ("filesystem", "memory", "web", "shell")
        for tool in module(name, workdir=workdir, **options.get(name, {}))
    ]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(every_tool(tmp_path))


def test_the_catalog_has_nothing_to_complain_about(catalog: Catalog) -> None:
    assert catalog.check() == []


def test_every_tool_has_its_source_its_category_phrases_and_notes(catalog: Catalog) -> None:
    for tool in catalog:
        assert tool.source == f"module:{tool.category}"
        assert len(tool.phrases) >= 6
        assert tool.protocol is not None
        assert tool.description.endswith(".")


def test_what_is_destructive_asks_first(catalog: Catalog) -> None:
    assert [tool.name for tool in catalog if tool.confirm] == ["fs_delete", "shell_run"]
    assert [tool.name for tool in catalog if tool.risk is Risk.DESTRUCTIVE] == ["fs_delete", "shell_run"]


def test_every_phrase_leads_to_its_tool(catalog: Catalog) -> None:
    index = ToolIndex(catalog)
    lost = [
        (phrase, found)
        for tool in catalog
        for phrase in tool.phrases
        if tool.name not in (found := index.search(phrase, limit=3).names)
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("find a tool that can grep file contents", "fs_grep"),
        ("search for the word pong in the project", "fs_grep"),
        ("rename report.txt to final.txt", "fs_move"),
        ("run npm install", "shell_run"),
    ],
)
def test_people_find_them_in_their_own_words(catalog: Catalog, request_: str, name: str) -> None:
    assert name in ToolIndex(catalog).search(request_, limit=3).names


def test_grep_requires_a_pattern_and_nothing_else(catalog: Catalog) -> None:
    assert catalog.get("fs_grep").parameters["required"] == ["pattern"]
    described = asyncio.run(Toolbox(catalog, surface=browse_surface).call("get_tool", {"name": "fs_grep"})).text
    assert "pattern" in described


def test_the_signatures_read_like_this(catalog: Catalog) -> None:
    assert [signature(tool) for tool in catalog] == snapshot(
        [
            "fs_read(path: str, start_line: int = 1, lines: int = 2000)",
            'fs_list(path: str = ".", limit: int = 200)',
            'fs_glob(pattern: str, path: str = ".", limit: int = 200)',
            'fs_grep(pattern: str, path: str = ".", glob: str = "", ignore_case: bool = false, literal: bool = false, limit: int = 100)',
            "fs_write(path: str, content: str, overwrite: bool = false)",
            "fs_edit(path: str, old: str, new: str, replace_all: bool = false)",
            "fs_mkdir(path: str)",
            "fs_move(source: str, destination: str, overwrite: bool = false)",
            "fs_delete(path: str, recursive: bool = false)",
            'memory_remember(text: str, topic: str = "")',
            "memory_recall(query: str, limit: int = 5)",
            'memory_list(topic: str = "", limit: int = 50)',
            "memory_forget(id: str)",
            "web_fetch(url: str, start_character: int = 0)",
            "web_search(query: str, limit: int = 5)",
            "web_download(url: str, path: str, overwrite: bool = false)",
            'shell_run(command: str|list[str], stdin: str = "", timeout_seconds?: float)',
        ]
    )


def test_the_descriptions_read_like_this(catalog: Catalog) -> None:
    assert {tool.name: tool.description for tool in catalog} == snapshot(
        {
            "fs_read": "Read a text file, or a range of its lines.",
            "fs_list": "List the files and folders in a folder, with size and time of change.",
            "fs_glob": "Find files and folders by name with a pattern.",
            "fs_grep": "Search the contents of files for a text or regular expression and return the lines that match, with file and line number.",
            "fs_write": "Write a text file: create a new one, or replace a whole one. Missing folders are made.",
            "fs_edit": "Change a part of a text file by replacing an exact text with another.",
            "fs_mkdir": "Make a folder, with the folders above it.",
            "fs_move": "Move or rename a file or folder.",
            "fs_delete": "Delete a file or a folder for good.",
            "memory_remember": "Remember a fact for later conversations.",
            "memory_recall": "Recall facts from earlier conversations by what they mean.",
            "memory_list": "List everything that is remembered, newest first.",
            "memory_forget": "Forget a remembered fact for good.",
            "web_fetch": "Open a web page by its address and return its readable text.",
            "web_search": "Search the web and return titles, addresses and snippets.",
            "web_download": "Download a file from the web into the work folder.",
            "shell_run": "Run a command in the work folder and return its exit code and output.",
        }
    )


def test_the_definitions_and_notes_cost_so_much(catalog: Catalog) -> None:
    costs = {
        tool.name: (definition_tokens(tool), count_tokens(tool.protocol.render() if tool.protocol else ""))
        for tool in catalog
    }
    assert costs == snapshot(
        {
            "fs_read": (110, 63),
            "fs_list": (90, 36),
            "fs_glob": (117, 55),
            "fs_grep": (196, 69),
            "fs_write": (110, 58),
            "fs_edit": (132, 59),
            "fs_mkdir": (61, 20),
            "fs_move": (93, 39),
            "fs_delete": (80, 46),
            "memory_remember": (91, 72),
            "memory_recall": (87, 47),
            "memory_list": (73, 27),
            "memory_forget": (63, 58),
            "web_fetch": (90, 67),
            "web_search": (82, 53),
            "web_download": (104, 49),
            "shell_run": (127, 93),
        }
    )
