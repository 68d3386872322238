"""Credentials: whose they are, where they are kept, and that none of them shows."""

import io
import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from benchmarks.wire import Call, Turn, WireServer
from tests.support.apps import WriteApp
from toolcrib.apps.build import load_app
from toolcrib.cli.main import main
from toolcrib.credentials import LOCAL, Credential, CredentialStore, acting_for, current_user
from toolcrib.errors import AppError, CredentialError, MissingCredentialError, UnsetVariableError
from toolcrib.stores.export import to_document
from toolcrib.stores.sqlite.store import SqliteStore

ANNA, BEN, SHARED, OURS = "sk-anna-0123456789", "sk-ben-0123456789", "sk-app-0123456789", "sk-file-0123456789"


class MemoryKeyring:
    """A keyring of this process, with what a backend of `keyring` does."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "kept", keyring=lambda: None)


def value(found: SecretStr | None) -> str | None:
    return None if found is None else found.get_secret_value()


# The store


def test_each_user_gets_their_own_and_nobody_that_of_another(store: CredentialStore) -> None:
    store.set("deep", SecretStr(ANNA), user="anna")
    store.set("deep", SecretStr(BEN), user="ben")
    store.set("deep", SecretStr(SHARED))
    users = (None, LOCAL, "anna", "ben", "Anna", "anna ", "carl", "deep")
    assert [value(store.get("deep", user=user)) for user in users] == [SHARED, None, ANNA, BEN, None, None, None, None]


def test_a_file_can_be_read_by_its_owner_alone(store: CredentialStore) -> None:
    assert store.set("deep", SecretStr(ANNA), user="anna") == Credential(name="deep", user="anna", place="file")
    [file] = store.folder.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (store.folder, file)] == [0o700, 0o600]
    assert "anna" not in file.name
    file.chmod(0o644)
    with pytest.raises(CredentialError, match="Others can read"):
        store.get("deep", user="anna")


def test_a_new_value_takes_the_place_of_the_old_one_and_a_removed_one_is_gone(store: CredentialStore) -> None:
    store.set("deep", SecretStr(ANNA), user="anna")
    store.set("deep", SecretStr(BEN), user="anna")
    assert value(store.get("deep", user="anna")) == BEN
    assert [store.remove("deep", user="anna"), store.remove("deep", user="anna")] == [True, False]
    assert store.get("deep", user="anna") is None
    assert list(store.folder.iterdir()) == []


def test_the_environment_speaks_for_the_app_and_for_whoever_started_it(tmp_path: Path) -> None:
    environment = {"TOOLCRIB_CREDENTIALS": str(tmp_path), "TOOLCRIB_CREDENTIAL_DEEP_MAIN": OURS}
    store = CredentialStore.open(environment)
    store.set("deep-main", SecretStr(ANNA), user="anna", place="file")
    assert [value(store.get("deep-main", user=user)) for user in (None, LOCAL, "anna", "ben")] == [
        OURS,
        OURS,
        ANNA,
        None,
    ]
    assert store.list() == (
        Credential(name="deep-main", user="anna", place="file"),
        Credential(name="deep_main", user=None, place="environment"),
    )


def test_the_keyring_is_used_where_there_is_one(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    store = CredentialStore(tmp_path, keyring=lambda: ring)
    assert store.set("deep", SecretStr(ANNA), user="anna").place == "keyring"
    assert value(store.get("deep", user="anna")) == ANNA
    assert ANNA not in "".join(path.read_text("utf-8") for path in tmp_path.iterdir())
    with pytest.raises(CredentialError, match="keyring"):
        CredentialStore(tmp_path, keyring=lambda: None).get("deep", user="anna")
    store.set("deep", SecretStr(BEN), user="anna", place="file")  # moved: the old one is forgotten
    assert (ring.held, value(store.get("deep", user="anna"))) == ({}, BEN)
    store.set("deep", SecretStr(ANNA), user="anna")
    assert (store.remove("deep", user="anna"), ring.held, store.list()) == (True, {}, ())


def test_a_missing_one_says_how_to_set_it(store: CredentialStore) -> None:
    told: list[tuple[str, str | None]] = []
    for user in (None, LOCAL, "anna"):
        with pytest.raises(MissingCredentialError) as raised:
            store.require("deep", user=user)
        told.append((str(raised.value), raised.value.hint))
    assert told == [
        ("There is no credential 'deep' for the app.", "Set it: toolcrib credentials set deep --app"),
        ("There is no credential 'deep' for you.", "Set it: toolcrib credentials set deep"),
        ("There is no credential 'deep' for the user 'anna'.", "Set it: toolcrib credentials set deep --user anna"),
    ]


def test_no_value_shows_in_a_repr_or_a_list(store: CredentialStore) -> None:
    store.set("deep", SecretStr(ANNA), user="anna")
    other = CredentialStore(store.folder, {"TOOLCRIB_CREDENTIAL_X": OURS})
    shown = repr([store.get("deep", user="anna"), store.list(), store, other, other.list()])
    assert ANNA not in shown
    assert OURS not in shown


@pytest.mark.parametrize("text", ["", "x" * 64_001])
def test_a_value_of_no_or_of_endless_length_is_refused(store: CredentialStore, text: str) -> None:
    with pytest.raises(CredentialError, match="characters"):
        store.set("deep", SecretStr(text))


def test_a_damaged_file_and_a_folder_that_cannot_be_are_told(store: CredentialStore, tmp_path: Path) -> None:
    store.set("deep", SecretStr(ANNA))
    [file] = store.folder.iterdir()
    file.write_text("{", encoding="utf-8")
    with pytest.raises(CredentialError, match="is damaged"):
        store.get("deep")
    store.set("deep", SecretStr(BEN))
    assert value(store.get("deep")) == BEN
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CredentialError, match="cannot be written"):
        CredentialStore(tmp_path / "file", keyring=lambda: None).set("deep", SecretStr(ANNA))


def test_a_task_acts_for_one_user_at_a_time() -> None:
    with acting_for("anna"):
        with acting_for("ben"):
            assert current_user() == "ben"
        assert current_user() == "anna"
    assert current_user() == LOCAL


# The command


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLCRIB_CREDENTIALS", str(tmp_path / "kept"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr("toolcrib.credentials.system_keyring", lambda: None)
    return tmp_path / "kept"


def test_the_command_keeps_lists_and_removes_and_prints_no_value(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([], ["--user", "anna"], ["--app"]):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{ANNA}\n"))
        assert main(["credentials", "set", "deep", "--in", "file", *words]) == 0
    assert main(["credentials", "list"]) == 0
    assert main(["credentials", "list", "--json"]) == 0
    assert [main(["credentials", "remove", "deep", "--user", "anna"]) for _ in range(2)] == [0, 2]
    shown = capsys.readouterr()
    table, _, rows = shown.out.partition("[\n")
    assert table.splitlines() == ["name  of    place", "deep  app   file", "deep  you   file", "deep  anna  file"]
    assert json.loads(f"[{rows}")[2] == {"name": "deep", "user": "anna", "place": "file"}
    assert ANNA not in shown.out + shown.err
    assert {value(CredentialStore.open().get("deep", user=user)) for user in (None, LOCAL)} == {ANNA}
    assert CredentialStore.open().get("deep", user="anna") is None


def test_at_a_terminal_the_value_is_asked_for_hidden(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def hidden(prompt: str) -> str:
        assert prompt == "Value of deep: "
        return ANNA

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("toolcrib.cli.credentials.getpass", hidden)
    assert main(["credentials", "set", "deep", "--in", "file"]) == 0
    assert value(CredentialStore.open().get("deep", user=LOCAL)) == ANNA


@pytest.mark.parametrize(
    "words", [["set", "deep", "--user", "a", "--app"], ["set", "deep", ANNA], ["set", "deep", "--value", ANNA]]
)
def test_a_value_is_no_argument_and_an_owner_is_one(
    own_folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(ANNA))
    assert main(["credentials", *words]) == 1
    assert not own_folder.exists()


# In an app

APP = """\
app: {app_id: bot}
credentials: {named: "{{env.NAMED}}"}
agents:
  - id: main
    brain:
      provider: shop
      model: small
      backend: openai_compat
      credential: {ref: REF, scope: SCOPE}
      config: {base_url: URL, api_key: "{{env.FALLBACK}}"}
"""


@pytest.fixture
def write(tmp_path: Path) -> WriteApp:
    def written(text: str, **others: str) -> Path:
        (tmp_path / "app.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "app.yaml"

    return written


def app_text(url: str, *, ref: str = "deep", scope: str = "per_user") -> str:
    return APP.replace("URL", url).replace("REF", ref).replace("SCOPE", scope)


@pytest.mark.process
async def test_each_run_is_paid_with_the_key_of_its_sessions_user(
    write: WriteApp, store: CredentialStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.set("deep", SecretStr(ANNA), user="anna")
    store.set("deep", SecretStr(BEN), user="ben")
    caplog.set_level(logging.DEBUG)
    told: list[Any] = []
    with WireServer([Turn(f"Answer {number}.") for number in range(5)]) as server:
        app = load_app(write(app_text(server.url)), workdir=tmp_path, environment={"FALLBACK": OURS}, credentials=store)
        async with app, app.crib.llm, SqliteStore(None) as sessions:
            for user in ("anna", "ben", "", "anna"):
                if user == "anna" and told:
                    store.set("deep", SecretStr("sk-anna-the-second"), user="anna")  # counts at once
                async with sessions.for_tenant(user).open("talk") as session:
                    done = await app.run(session, "hi")
                    assert done.failed is None
                told += [event.to_json() for event in done.events]
                told.append(to_document(await sessions.for_tenant(user).read("talk")))
        sent = [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]
        bodies = b"".join(request.body for request in server.requests).decode()
    assert sent == [ANNA, BEN, OURS, "sk-anna-the-second"]
    shown = json.dumps(told, default=str) + bodies + repr([app, app.crib, app.crib.llm, app.spec]) + caplog.text
    for secret in (ANNA, BEN, OURS, "sk-anna-the-second"):
        assert secret not in shown


@pytest.mark.process
async def test_an_agent_that_works_for_another_uses_the_same_users_key(
    write: WriteApp, store: CredentialStore, tmp_path: Path
) -> None:
    store.set("deep", SecretStr(ANNA), user="anna")
    script = [Turn(Call("ask_clerk", {"request": "Look."})), Turn("I looked."), Turn("The clerk looked.")]
    with WireServer(script) as server:
        brain = (
            "{provider: shop, model: m, backend: openai_compat, credential: {ref: deep}, "
            f"config: {{base_url: '{server.url}'}}}}"
        )
        path = write(
            "app: {app_id: office}\nruntime: {tool_injection: direct}\nagents:\n"
            f"  - {{id: desk, brain: {brain}}}\n  - {{id: clerk, brain: {brain}}}\n"
        )
        app = load_app(path, workdir=tmp_path, environment={}, credentials=store)
        async with app, app.crib.llm, SqliteStore(None, tenant="anna") as sessions, sessions.open() as session:
            done = await app.run(session, "go")
        sent = {request.headers["authorization"] for request in server.requests}
    assert (done.answer, sent) == ("The clerk looked.", {f"Bearer {ANNA}"})


@pytest.mark.process
async def test_a_user_without_one_reads_how_to_set_it_and_the_session_stays_usable(
    write: WriteApp, store: CredentialStore, tmp_path: Path
) -> None:
    with WireServer([Turn("Hello.")]) as server:
        app = load_app(write(app_text(server.url)), workdir=tmp_path, environment={}, credentials=store)
        async with app, app.crib.llm, SqliteStore(None, tenant="anna") as sessions, sessions.open() as session:
            failed = (await app.run(session, "hi")).failed
            assert failed is not None
            assert (failed.message, failed.hint) == (
                "There is no credential 'deep' for the user 'anna', and the environment variable FALLBACK is not set.",
                "Set it: toolcrib credentials set deep --user anna",
            )
            store.set("deep", SecretStr(ANNA), user="anna")
            assert (await app.run(session, "hi")).answer == "Hello."


@pytest.mark.process
@pytest.mark.parametrize(
    ("ref", "environment", "kept", "key"),
    [
        ("deep", {"FALLBACK": OURS}, True, SHARED),
        ("deep", {"FALLBACK": OURS}, False, OURS),
        ("named", {"FALLBACK": OURS, "NAMED": BEN}, False, BEN),
        ("named", {"FALLBACK": OURS}, False, OURS),
    ],
)
async def test_the_apps_credential_counts_first_then_its_name_in_the_file_then_the_key(
    write: WriteApp,
    store: CredentialStore,
    tmp_path: Path,
    ref: str,
    environment: dict[str, str],
    kept: bool,
    key: str,
) -> None:
    if kept:
        store.set(ref, SecretStr(SHARED))
    with WireServer([Turn("Hello.")]) as server:
        path = write(app_text(server.url, ref=ref, scope="app"))
        app = load_app(path, workdir=tmp_path, environment=environment, credentials=store)
        async with app, app.crib.llm, SqliteStore(None) as sessions, sessions.open() as session:
            await app.run(session, "hi")
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {key}"]


def test_a_missing_one_is_told_at_the_start_with_its_line(
    write: WriteApp, store: CredentialStore, tmp_path: Path
) -> None:
    path = write(app_text("http://127.0.0.1:9/v1", scope="app"))
    app = load_app(path, workdir=tmp_path, environment={}, credentials=store)
    with pytest.raises(UnsetVariableError) as raised:
        _ = app.crib
    assert str(raised.value) == (
        f"{path}:9:20: agents.0.brain.credential.ref: There is no credential 'deep' for the app, and the environment "
        "variable FALLBACK is not set. Set it: toolcrib credentials set deep --app"
    )
    own = load_app(write(app_text("http://127.0.0.1:9/v1")), workdir=tmp_path, environment={}, credentials=store)
    _ = own.crib  # whoever talks may have one
    assert own.missing_keys("anna")[0].endswith("toolcrib credentials set deep --user anna")
    with pytest.raises(UnsetVariableError, match="There is no credential 'deep' for you"):
        own.require_keys()
    assert load_app(path, model="offline", environment={}, credentials=store).missing_keys() == []


@pytest.mark.parametrize(
    ("brain", "complaint"),
    [
        ("credential: {ref: deep, provider: openai}", "a key of 'openai' is not sent to 'shop'; leave one out"),
        ("credential: {ref: deep}, config: {credential: named}", "stands beside `credential`; leave one out"),
        ("credential: {scope: per_user}", "agents.0.brain.credential.ref: is missing"),
        ("credential: {ref: deep, scope: everybody}", "agents.0.brain.credential.scope: input should be"),
        ("seed: 1, config: {seed: 2}", "agents.0.brain.config.seed: stands beside `config`, too"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(write: WriteApp, brain: str, complaint: str) -> None:
    path = write(
        'app: {app_id: bot}\ncredentials: {named: "{{env.N}}"}\n'
        f"agents: [{{id: a, brain: {{provider: shop, model: m, {brain}}}}}]\n"
    )
    with pytest.raises(AppError) as raised:
        load_app(path, environment={})
    assert complaint in str(raised.value)
    assert str(raised.value).startswith(f"{path}:3:")
