import asyncio
import tempfile
from pathlib import Path

from toolcrib import load_app
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model

file = Path(tempfile.mkdtemp()) / "app.yaml"
file.write_text("""\
app: {app_id: office}
runtime: {workdir_mode: temporary, tool_injection: discovery}
agents:
  - id: desk
  - id: clerk
    description: Knows the files.
    tools: inherit            # or tools of its own, as under `tools`
tools: {modules: [filesystem]}
""")


async def main() -> None:
    model = scripted_model(
        ("discover_agents", {}),
        ("ask_clerk", {"request": "Which files are there?"}),
        ("fs_list", {}),  # the clerk
        "There is plan.txt.",  # the clerk
        "The clerk found plan.txt.",
    )
    app = load_app(file, model=model)
    async with app, SqliteStore(None) as store, store.open() as session:
        (app.workdir / "plan.txt").write_text("Water the plants.")
        done = await app.run(session, "what files do we have?")
        assert done.answer == "The clerk found plan.txt."


asyncio.run(main())
