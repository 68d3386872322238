"""Descriptions are measured without a network: sentences exactly, tokens roughly."""

import pytest

from toolcrib.tools.text import estimated_tokens, first_sentence, sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("Find it", ["Find it"]),
        ("Find it. Show it!", ["Find it.", "Show it!"]),
        ("Find it,\n  wherever it is.\n\nThen stop.", ["Find it, wherever it is.", "Then stop."]),
        ("Find a file, e.g. PDF. Then stop.", ["Find a file, e.g. PDF.", "Then stop."]),
        ("Read v1.2 of config.yaml etc. and stop.", ["Read v1.2 of config.yaml etc. and stop."]),
        ('Say "Stop." Then go.', ['Say "Stop."', "Then go."]),
        ("画像を探す。そして表示する。", ["画像を探す。", "そして表示する。"]),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts
    assert first_sentence(text) == (parts[0] if parts else "")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Search images by what they show.", 7),
        ("Delete a page and everything on it, without asking.", 11),
    ],
)
def test_a_common_english_word_or_mark_is_one_token(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_other_scripts_cost_more_tokens_per_letter() -> None:
    assert estimated_tokens("画像を探す") == 5
    assert estimated_tokens("изображение") > estimated_tokens("representation")
