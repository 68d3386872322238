"""A user in the chat, a server with hostile answers, and the screenshots of the README."""
