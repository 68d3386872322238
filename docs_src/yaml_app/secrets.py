import asyncio
import tempfile
from pathlib import Path

from toolcrib import load_app

file = Path(tempfile.mkdtemp()) / "app.yaml"
file.write_text("""\
app: {app_id: deploy}
runtime: {workdir_mode: temporary}
credentials: {shop: "{{env.SHOP_TOKEN}}"}
agents: [{id: main}]
tools:
  modules:
    shell: {environment: {TOKEN: "{{credential.shop}}"}, sandbox: "off"}
  capabilities: {default_policy: allow}
""")


async def main() -> None:
    async with load_app(file, environment={"SHOP_TOKEN": "tok-123456"}) as app:
        result = await app.crib.toolbox().call("shell_run", {"command": 'test -n "$TOKEN" && echo "it is $TOKEN"'})
        assert "it is [secret]" in result.text  # the command has it; model, log and screen do not


asyncio.run(main())
