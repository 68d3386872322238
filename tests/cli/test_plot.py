"""An evaluation as a picture."""

import sys
from pathlib import Path

import pytest

from toolcrib.cli.bench import draw, require_plot
from toolcrib.errors import MissingExtraError, ToolcribError
from toolcrib.evals.retrieval import Evaluation, Scores

SCORES = Scores(
    queries=10,
    recall_at_1=0.5,
    recall_at_5=0.75,
    recall_at_10=1.0,
    ndcg_at_10=0.6,
    mrr=0.6,
    comp_at_5=0.7,
    unanswered=0.0,
)


@pytest.mark.process  # matplotlib asks `fc-list` for fonts when it has no cache
@pytest.mark.parametrize("languages", [{}, {"de": SCORES, "pl": SCORES}], ids=["one language", "two languages"])
def test_a_picture_is_written_in_the_format_its_name_says(tmp_path: Path, languages: dict[str, Scores]) -> None:
    seen = Evaluation(scores=SCORES, by_language=languages, junk_queries=0, junk_rate=0.0, p50_ms=0.1, p99_ms=0.4)
    draw(seen, tmp_path / "seen.svg")
    draw(seen, tmp_path / "seen.png")
    assert "<svg" in (tmp_path / "seen.svg").read_text("utf-8")
    assert (tmp_path / "seen.png").read_bytes().startswith(b"\x89PNG")


def test_another_format_is_refused_at_once() -> None:
    with pytest.raises(ToolcribError, match=r"'seen.docx' is not a supported image format") as caught:
        require_plot(Path("seen.docx"))
    assert caught.value.hint == "Use a name that ends in `.svg` or `.png`."


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as caught:
        require_plot(Path("seen.svg"))
    assert caught.value.hint == "pip install 'toolcrib[plot]'"
