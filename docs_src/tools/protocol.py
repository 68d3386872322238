from toolcrib import Protocol

protocol = Protocol(
    before="Find the image first with `search_images`.",
    after="Show the user the new picture.",
    gotcha="Scores closer to 0 are better.",
)

assert protocol.render() == (
    "BEFORE: Find the image first with `search_images`.\n"
    "AFTER: Show the user the new picture.\n"
    "GOTCHA: Scores closer to 0 are better."
)
