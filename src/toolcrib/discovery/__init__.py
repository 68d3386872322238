"""HOW a model reaches tools: what it sees at each step, and what that costs. No LLM and no network here."""
