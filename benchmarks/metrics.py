"""What the library's own `evaluate` has no use for: whether a stated confidence can be believed."""

from collections.abc import Sequence

import numpy as np

BINS = 15


def calibration_error(confidences: Sequence[float], correct: Sequence[bool], bins: int = BINS) -> float:
    """Expected calibration error: how far confidence and hit rate lie apart, over bins of equal width."""
    if not confidences:
        return 0.0
    stated, right = np.asarray(confidences, float), np.asarray(correct, float)
    place = np.minimum((stated * bins).astype(int), bins - 1)
    gaps = (abs(stated[place == b].sum() - right[place == b].sum()) for b in range(bins))
    return float(sum(gaps) / len(stated))
