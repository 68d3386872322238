import tempfile
from pathlib import Path

from pydantic import SecretStr

from toolcrib import ToolcribError, load_app
from toolcrib.credentials import CredentialStore

folder = Path(tempfile.mkdtemp())
file = folder / "app.yaml"
file.write_text("""\
app: {app_id: bot}
agents:
  - id: main
    brain:
      provider: deepseek
      model: deepseek-chat
      credential: {ref: deepseek_main, scope: per_user, provider: deepseek}
""")
store = CredentialStore(folder / "credentials")
store.set("deepseek_main", SecretStr("sk-of-anna"), user="anna", place="file")

app = load_app(file, environment={}, credentials=store)
app.require_keys("anna")
try:
    app.require_keys("ben")
except ToolcribError as error:
    print(error)  # ... There is no credential 'deepseek_main' for the user 'ben'. Set it: toolcrib credentials set ...
print(store.list())  # (Credential(name='deepseek_main', user='anna', place='file'),)
assert str(store.get("deepseek_main", user="anna")) == "**********"
