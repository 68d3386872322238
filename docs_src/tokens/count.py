from toolcrib import tool
from toolcrib.discovery import count_tokens, definition_tokens, is_exact, measure, message_tokens


@tool
def find_page(slug: str) -> str:
    """Find a page by its address."""
    return slug


assert count_tokens("Find a page by its address.") == 7
assert definition_tokens(find_page, "openai-chat") > definition_tokens(find_page, "anthropic") > 7
assert message_tokens([{"role": "user", "content": "Find the home page."}]) == 9  # five, and four around them

assert str(measure("Find a page by its address.", model="gpt-5")) == "7"
assert str(measure("Find a page by its address.", model="claude-sonnet-4-5")) == "about 7"
assert not is_exact("deepseek-chat")
