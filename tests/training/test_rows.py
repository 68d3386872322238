"""Which features get a row of the table."""

import numpy as np
import pytest

from training.encode import Bags, choose_features, encode


def test_bags_are_read_end_to_end() -> None:
    bags = Bags.of([np.array([1, 2]), np.array([3]), np.array([4, 5, 6])])
    assert len(bags) == 3
    assert bags.some(np.array([2, 0])).tolist() == [4, 5, 6, 1, 2]
    assert bags.some(np.array([1]), np.array([9, 9, 7, 9, 9, 9])).tolist() == [7]


@pytest.mark.process
def test_a_small_language_gets_its_share_of_the_rows() -> None:
    texts = [f"word{number} other{number}" for number in range(400)] + ["ካርታ", "ሰዓት"]
    encoded = encode(texts, processes=1)
    languages = {"en": np.arange(400), "am": np.arange(400, 402)}
    chosen = choose_features(encoded, 200, languages)
    assert len(chosen) == 200
    assert chosen.tolist() == sorted(chosen.tolist())
    own = encoded.words.some(np.unique(encoded.texts.some(languages["am"])))
    assert np.isin(own, chosen).all()


@pytest.mark.process
def test_what_a_model_already_has_keeps_its_row() -> None:
    encoded = encode(["often often often", "seldom"], processes=1)
    seldom = encoded.words.some(np.array([1]))
    chosen = choose_features(encoded, len(seldom) + 1, {"en": np.array([0, 1])}, held=seldom)
    assert np.isin(seldom, chosen).all()
    alone = choose_features(encoded, 3, {"en": np.array([0, 0, 0, 1])})
    assert not np.isin(seldom, alone).any()
