from toolcrib.discovery import input_cost

assert input_cost(1_000, "gpt-4o", requests=10_000).dollars == 25
assert str(input_cost(1_000, "my-own-model")) == "unknown"
