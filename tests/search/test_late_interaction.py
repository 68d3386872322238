"""Candidates read word by word: what is close, what is not, and how the words of tools come and go."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from toolcrib.search import rerank as word_meanings
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.rerank import DIMENSIONS, REQUEST_WORDS, LateInteraction

EMBEDDER = BuiltinEmbedder()
TOOLS = {
    0: ["send", "email", "recipient", "subject"],
    1: ["delete", "picture", "gallery"],
    2: ["current", "weather", "city"],
    3: [],
}


@pytest.fixture
def meanings() -> LateInteraction:
    held = LateInteraction(EMBEDDER)
    held.put(TOOLS.items())
    return held


@pytest.mark.parametrize(
    ("asked", "tool"),
    [
        ("remove a photo", 1),
        ("schick eine Mail an Anna", 0),
        ("jaka jest pogoda w Krakowie", 2),
        ("北京今天天气怎么样", 2),
        ("REMOVE THE FOTO", 1),
    ],
)
def test_a_word_is_met_by_one_that_means_the_same_in_any_language(
    meanings: LateInteraction, asked: str, tool: int
) -> None:
    close = meanings.read(asked, [0, 1, 2])
    assert (close.of_query.argmax(), close.of_tool.argmax()) == (tool, tool)


def test_a_tool_whose_every_word_is_asked_for_is_wholly_told(meanings: LateInteraction) -> None:
    close = meanings.read("please send an email to a recipient with a subject and confetti", [0, 1])
    assert close.of_tool[0] == pytest.approx(1, abs=1e-4)
    assert close.of_query[0] < 1  # nothing in it is like confetti
    assert close.of_tool[1] < 0.7
    assert meanings.read("send email", [0]).of_query[0] == pytest.approx(1, abs=1e-4)


def test_one_telling_word_does_not_drown_in_a_story(meanings: LateInteraction) -> None:
    story = "my aunt from Leeds turns ninety and we all drive up in the old van, so what about the weather"
    assert meanings.read(story, [0, 1, 2]).of_tool.argmax() == 2


def test_a_tool_without_words_and_one_nobody_knows_are_close_to_nothing(meanings: LateInteraction) -> None:
    close = meanings.read("send an email", [3, 99])
    assert (close.of_query.tolist(), close.of_tool.tolist()) == ([0, 0], [0, 0])


@pytest.mark.parametrize("text", ["", " ", "...", "\x00"])
def test_a_text_without_words_is_close_to_nothing(meanings: LateInteraction, text: str) -> None:
    close = meanings.read(text, [0, 1])
    assert (close.of_query.tolist(), close.of_tool.tolist()) == ([0, 0], [0, 0])
    assert meanings.read("send", []).of_query.tolist() == []


def test_a_request_of_fillers_alone_is_read_as_it_is(meanings: LateInteraction) -> None:
    meanings.put([(7, ["help"])])
    assert meanings.read("how can you help me", [0, 7]).of_query.tolist() != [0, 0]


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    held = LateInteraction(EMBEDDER)
    held.put(TOOLS.items())
    close = held.read(text, [0, 1, 2, 3])
    assert all(np.isfinite(side).all() and (side <= 1.001).all() and len(side) == 4 for side in close)


def test_only_so_many_words_of_a_request_are_read(meanings: LateInteraction) -> None:
    long = " ".join(f"zyx{number}" for number in range(REQUEST_WORDS))
    assert meanings.read(f"{long} email", [0]).of_query == pytest.approx(meanings.read(long, [0]).of_query)


def test_words_of_tools_that_left_are_let_go(meanings: LateInteraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_meanings, "MIN_WASTE", 4)
    before = meanings.read("send an email about the weather", [0, 2])
    meanings.put([(8, [f"word{number}" for number in range(20)])])
    meanings.remove(8)
    meanings.remove(1)
    meanings.remove(12)  # never came
    ids = meanings._ids  # pyright: ignore[reportPrivateUsage] - what is kept and forgotten shows nowhere else
    directions = meanings._directions  # pyright: ignore[reportPrivateUsage] - as above
    assert not any("word" in word for word in ids)
    assert directions.view.shape == (len(ids), DIMENSIONS)
    after = meanings.read("send an email about the weather", [0, 2])
    assert np.allclose(before, after)
    assert meanings.read("delete picture", [1]).of_query.tolist() == [0]


def test_no_table_is_read_for_no_tools(tmp_path: Path) -> None:
    without_a_table = LateInteraction(BuiltinEmbedder(tmp_path))
    assert [side.tolist() for side in without_a_table.read("send email", [])] == [[], []]
