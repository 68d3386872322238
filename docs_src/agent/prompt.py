from datetime import date

from toolcrib.agent import Prompt, section_names

assert section_names() == (
    "identity",
    "pattern",
    "discovery",
    "core-example",
    "references",
    "confirmation",
    "content",
    "date",
)

prompt = Prompt(
    sections={"identity": "You are the assistant of a flower shop.", "content": ""},  # one replaced, one left out
    more="Prices are in euros.",
)
text = prompt.render(today=date(2026, 11, 15), finders=["tool_search"])
assert text.startswith("<identity>\nYou are the assistant of a flower shop.\n</identity>")
assert "<content>" not in text
assert text.endswith("Prices are in euros.")
