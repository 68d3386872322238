from toolcrib.discovery.breadth import worth_showing
from toolcrib.search.result import Hit, SearchResult


def shown(*scores: float, confidence: float) -> int:
    hits = tuple(Hit(name=f"tool_{number}", score=score) for number, score in enumerate(scores))
    found = SearchResult(hits=hits, confidence=confidence, path="blended", took_ms=0.1)
    return len(worth_showing(found, limit=8))


assert shown(0.90, 0.03, 0.02, 0.01, confidence=0.9) == 1  # sure and narrow
assert shown(0.60, 0.30, 0.02, 0.01, confidence=0.9) == 2  # a rival comes along
assert shown(0.90, 0.0, 0.0, 0.0, confidence=0.9) == 2  # one often used with it, which has no score of its own
assert shown(0.30, 0.25, 0.20, 0.15, confidence=0.9) == 4  # a task that needs several tools
assert shown(*[0.1] * 20, confidence=0.3) == 8  # not sure: up to the limit, which is never more than 10
