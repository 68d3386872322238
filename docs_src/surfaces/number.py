from toolcrib import Hit, SearchResult
from toolcrib.discovery import best_hits, hand_over


def search(*scores: float, confidence: float) -> SearchResult:
    hits = tuple(Hit(name=f"tool_{number}", score=score) for number, score in enumerate(scores))
    return SearchResult(hits=hits, confidence=confidence, path="blended", took_ms=0.1)


def worth(*scores: float, confidence: float) -> int:
    return len(best_hits(search(*scores, confidence=confidence), limit=8))


assert worth(0.90, 0.03, 0.02, 0.01, confidence=0.9) == 1  # sure and narrow
assert worth(0.60, 0.30, 0.02, 0.01, confidence=0.9) == 2  # a rival comes along
assert worth(0.90, 0.0, 0.0, 0.0, confidence=0.9) == 2  # one often used with it, which has no score of its own
assert worth(0.30, 0.25, 0.20, 0.15, confidence=0.9) == 4  # a task that needs several tools
assert worth(*[0.1] * 20, confidence=0.3) == 8  # not sure: up to the limit, which is never more than 10

several = search(0.30, 0.25, 0.20, 0.15, confidence=0.9)
chosen = hand_over(several, limit=8, tokens_of=lambda name: 150, budget_tokens=370)
assert [hit.name for hit in chosen.handed] == ["tool_0", "tool_1"]
assert [hit.name for hit in chosen.named] == ["tool_2", "tool_3"]
