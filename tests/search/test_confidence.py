"""How sure a search is: numbers that are probabilities, from networks that fit the signs they are given."""

import json
from math import exp
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from toolcrib.search import kernels
from toolcrib.search.confidence import RANKING_FEATURES, Calibration, confidence_features
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.fusion import FEATURES, WEIGHTS, Candidates, Network, load_weights
from toolcrib.search.kernels.plain import SCORE_ROWS
from toolcrib.search.lexical import LexicalFeatures
from toolcrib.search.rerank import Coverage

pytestmark = pytest.mark.usefixtures("either_way")

SIGNS = len(FEATURES)
WORD_SIGNS = len(LexicalFeatures._fields)


def evidence(features: list[float]) -> Candidates:
    close = Coverage(np.array([0.6, 0.2]), np.array([0.4, 0.1]))
    return Candidates(
        tool_ids=np.array([3, 1]), lexical=np.zeros(2), dense=np.zeros(2), close=close, features=np.array(features)
    )


def judge(folder: Path, **biases: float) -> Calibration:
    """A judge that always thinks the same."""
    sizes = {"lexical": WORD_SIGNS, "first": SIGNS + RANKING_FEATURES, "serves": SIGNS + RANKING_FEATURES}
    kept = {
        name: {
            "mean": [0.0] * size,
            "spread": [1.0] * size,
            "line": [[0.0]] * size,
            "hidden": [[0.0]] * size,
            "hidden_bias": [0.0],
            "out": [[0.0]],
            "bias": [biases.get(name, 0.0)],
        }
        for name, size in sizes.items()
    }
    path = folder / "weights.json"
    path.write_text(json.dumps({**kept, "small_talk": {"line": [12.0, 0.0, -3.0]}}), encoding="utf-8")
    return Calibration(path)


def test_each_question_has_its_own_network(tmp_path: Path) -> None:
    fixed = judge(tmp_path, lexical=1.0, first=-2.0, serves=1000.0)
    seen = confidence_features(evidence([0.0] * SIGNS), [], 0, 0.0)
    assert fixed.p_lexical(LexicalFeatures(*[0.0] * WORD_SIGNS)) == pytest.approx(1 / (1 + exp(-1)))
    assert fixed.p_first(seen) == pytest.approx(1 / (1 + exp(2)))
    assert 0.999 < fixed.p_answerable(seen) < 1  # never quite sure


def test_small_talk_is_between_minus_one_and_one(tmp_path: Path) -> None:
    fixed = judge(tmp_path)
    heard = [fixed.small_talk(np.array([x, 0.5], dtype=np.float32)) for x in (-1, 0.25, 0.5, 1)]
    assert heard == [-1, 0, 0.5, 1]


def test_the_outlook_says_how_the_ranking_came_out() -> None:
    ranking = [(3, 0.5), (1, 0.2), (8, 0.1), (2, 0.1), (5, 0.05), (6, 0.05)]
    seen = confidence_features(evidence([0.0] * SIGNS), ranking, 3, 0.25).tolist()
    assert seen[SIGNS:] == pytest.approx([0.5, 0.3, 0.95, 0.5, 0.25, 0.6, 0.4])
    assert len(seen) == SIGNS + RANKING_FEATURES
    assert confidence_features(evidence([0.0] * SIGNS), [(9, 0.5)], 1, 0.0).tolist()[-2:] == [
        0.0,
        0.0,
    ]  # only a part knows tool 9
    assert confidence_features(evidence([0.0] * SIGNS), [], 0, 0.0).tolist() == [0.0] * (SIGNS + RANKING_FEATURES)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("trust", SIGNS, SCORE_ROWS),
        ("lexical", WORD_SIGNS, 1),
        ("first", SIGNS + RANKING_FEATURES, 1),
        ("serves", SIGNS + RANKING_FEATURES, 1),
    ],
)
def test_the_shipped_networks_fit_the_signs(name: str, inputs: int, outputs: int) -> None:
    network = Network.read(WEIGHTS, name)
    assert (network.mean.shape, network.spread.shape) == ((inputs,), (inputs,))
    assert (network.spread > 0).all()
    answers = np.full(outputs, np.nan)
    kernels.network(np.zeros(inputs), answers, *network)
    assert (network.bias.shape, np.isfinite(answers).all()) == ((outputs,), True)


def test_the_shipped_ear_for_small_talk_fits_the_built_in_embedder() -> None:
    assert load_weights(WEIGHTS)["small_talk"]["line"].shape == (BuiltinEmbedder().dimensions + 1,)


@pytest.mark.parametrize(
    ("talk", "errand"),
    [
        ("how are you today my friend?", "convert the invoice to pdf"),
        ("tell me what you think about life", "delete the blog post about cats"),
        ("wie geht es dir heute?", "erstelle eine neue Seite"),
        ("dziękuję ci bardzo, jesteś kochany", "usuń zdjęcie z galerii"),
    ],
)
def test_small_talk_sounds_more_like_it_than_an_errand(talk: str, errand: str) -> None:
    heard = [Calibration().small_talk(vector) for vector in BuiltinEmbedder().embed_queries([talk, errand])]
    assert heard[0] > heard[1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=SIGNS + RANKING_FEATURES, max_size=SIGNS + RANKING_FEATURES))
def test_the_fitted_judge_gives_probabilities_whatever_the_signs(features: list[float]) -> None:
    fixed, seen = Calibration(), np.array(features)
    for value in (
        fixed.p_first(seen),
        fixed.p_answerable(seen),
        fixed.p_lexical(LexicalFeatures(*features[:WORD_SIGNS])),
    ):
        assert 0 <= value <= 1
