"""What each `answer_above` costs and saves, on data kept for this choice alone.

    python -m training.thresholds

Requests: the `dev` queries (a twentieth of the train splits, which the table never learned from), and those of
`written_sets.py` that fusion is fitted with. Junk:
`data/turned_away.jsonl`, which nothing was trained or fitted on. Test queries and the benchmarks' own junk stay unseen.
"""

import json
from pathlib import Path

from benchmarks.data import OPEN_SETS, load
from benchmarks.trust import cms_tools
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import ANSWER_CHATTER_ABOVE, SearchOptions
from toolcrib.search.text import content_words
from training.corpus import is_dev
from training.written_sets import written_sets

JUNK = Path("training/data/turned_away.jsonl")
THRESHOLDS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4)
QUERIES = 400


def answerable(index: ToolIndex, name: str, text: str) -> float:
    """How likely the index thinks a tool serves the request; 0 where it refuses whatever the threshold."""
    chance = index.explain(text, name).answerable
    return chance if content_words(text) or chance >= ANSWER_CHATTER_ABOVE else 0.0


def main() -> None:
    junk = [json.loads(line)["text"] for line in JUNK.read_text(encoding="utf-8").splitlines()]
    print(f"{'catalog':16} {'tools':>5}  " + "  ".join(f"{threshold:>11}" for threshold in THRESHOLDS))
    print(f"{'':22}  " + "  ".join(f"{'junk  lost':>11}" for _ in THRESHOLDS))
    catalogs = {name: load(name, split="train", limit=None) for name in OPEN_SETS}
    rows = [(name, found.tools, [q for q in found.queries if is_dev(q.text)]) for name, found in catalogs.items()]
    rows += [(name, found.tools, list(found.queries)) for name, found in written_sets("fitted").items()]
    for name, tools, queries in [("CMS", cms_tools(), []), *rows]:
        index = ToolIndex(Catalog(tools), options=SearchOptions(abstain=False))
        answered = [answerable(index, tools[0].name, text) for text in junk]
        found = [query.text for query in queries[:QUERIES] if query.relevant & set(index.search(query.text).names)]
        kept = [answerable(index, tools[0].name, text) for text in found]
        cells = []
        for threshold in THRESHOLDS:
            wrong = sum(chance >= threshold for chance in answered) / len(junk)
            lost = f"{sum(chance < threshold for chance in kept) / len(kept):6.1%}" if kept else "     -"
            cells.append(f"{wrong:5.0%}{lost}")
        print(f"{name:16} {len(tools):5}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
