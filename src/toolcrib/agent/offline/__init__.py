"""A brain without a language model: a Pydantic AI model that works by rules, so that a demo and a test run anywhere.

It reads what any model reads (instructions, tool definitions, messages) and nothing else, and the same messages always
give the same reply. `conversation.py` says what was said and done, `planning.py` what comes next, `filling.py` with
which arguments, `answering.py` in which words. Words of other languages are compared by meaning (`meaning.py`), with
the embedder that also finds the tools. It invents nothing: what is not in the request, the memory or a result is asked.
"""

from toolcrib.agent.offline.model import OfflineModel

__all__ = ["OfflineModel"]
