from datetime import UTC, datetime

from toolcrib.memory import Outcome, WorkingMemory

memory = WorkingMemory().with_use("send_mail", Outcome.FAILED, at=datetime(2026, 5, 4, 12, tzinfo=UTC))

assert WorkingMemory.from_json(memory.to_json()) == memory
assert memory.to_json()["version"] == 1
