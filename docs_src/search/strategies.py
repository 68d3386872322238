from toolcrib import Catalog, ToolIndex
from toolcrib.search import Strategy

# One strategy for every size: ask both arms nearly always, and hand over tools only when rather sure that some fit.
careful = Strategy(up_to=float("inf"), lexical_above=0.99, blended_above=0.3, answer_above=0.7)
index = ToolIndex(Catalog(), strategies=(careful,))
assert len(index) == 0
