import asyncio

from toolcrib import load_app


async def main() -> None:
    async with load_app("notes.yaml") as app:
        toolbox = app.crib.toolbox()
        assert "shell" not in toolbox.categories()  # hidden: no surface, no search and no call knows of it
        assert (await toolbox.call("shell_run", {"command": "ls"})).text.startswith("There is no tool named")
        refused = await toolbox.call("fs_delete", {"path": "plan.txt"})
        assert refused.text == "fs_delete is not allowed, because notes are kept. Do not try again; tell the user."


asyncio.run(main())
