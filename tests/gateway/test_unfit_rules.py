"""Rules of a policy that fit no tool: a mistake, unless a server that has not listed its tools may still bring one."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.gateway import call, entry, in_memory, made_gateway, text, write_config
from tests.support.mcp_source import until
from toolcrib import Catalog, Policy, Rule, Tool
from toolcrib.cli.main import main
from toolcrib.errors import GatewayError
from toolcrib.policy.coverage import Fit, KnownTool, PendingSource, judge
from toolcrib.policy.reading import read_policy
from toolcrib.sources.source import SourceState

TOOLS = [
    Tool(name="mail__delete_mail", description="Delete.", category="mail", source="mcp:mail"),
    KnownTool("pets__getPet", "pets", "openapi:pets"),
]
STARTING = PendingSource(name="mcp:files", state="still starting", prefix="files__", category="files")


def policy_of(folder: Path, *rules: str) -> Policy:
    path = folder / "policy.yaml"
    path.write_text("rules:\n" + "".join(f"  - {{policy: deny, {rule}}}\n" for rule in rules))
    return read_policy(path)


@pytest.mark.parametrize(
    ("rule", "fit"),
    [
        ("name: '*delete_mail'", Fit.FITS),
        ("name: MAIL__*", Fit.FITS),
        ("name: mail.delete_mail", Fit.FITS),
        ("name: delete_mial", Fit.UNFIT),
        ("name: mail__delete_mial", Fit.UNFIT),
        ("name: mail__delete_mail, source: 'mcp:maill'", Fit.UNFIT),
        ("name: mail__delete_mail, category: pets", Fit.UNFIT),
        ("category: mail", Fit.FITS),
        ("category: mial", Fit.UNFIT),
        ("module: shell", Fit.UNFIT),
        ("source: 'mcp:mail'", Fit.FITS),
        ("source: 'mcp:mial'", Fit.UNFIT),
        ("risk: destructive", Fit.FITS),  # what it fits may come and go; it cannot be misspelt
        ("role: ann", Fit.FITS),
        ("risk: destructive, category: mial", Fit.UNFIT),
        ("name: pets__getPet, category: pets, source: 'openapi:*'", Fit.FITS),
        ("name: files__delete", Fit.PENDING),
        ("name: 'fi*'", Fit.PENDING),
        ("name: '*write*'", Fit.PENDING),
        ("name: fi", Fit.UNFIT),
        ("name: 'mail__write*'", Fit.UNFIT),
        ("category: files", Fit.PENDING),
        ("source: 'mcp:files', name: '*delete*'", Fit.PENDING),
        ("source: 'mcp:files'", Fit.FITS),
    ],
)
def test_a_rule_fits_a_tool_or_waits_for_one_or_is_a_mistake(tmp_path: Path, rule: str, fit: Fit) -> None:
    (judged,) = judge(policy_of(tmp_path, rule), TOOLS, [STARTING], ["mcp:mail", "openapi:pets", "mcp:files"])
    assert judged.fit is fit
    assert judged.is_mistake is (fit is Fit.UNFIT)
    assert judged.waits_for == (("mcp:files (still starting)",) if fit is Fit.PENDING else ())
    (allowed,) = judge(policy_of(tmp_path, f"{rule}, optional: true"), TOOLS, [STARTING])
    assert not allowed.is_mistake


def test_a_mistake_names_its_line_and_what_was_probably_meant(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "name: '*'", "name: mail__delete_mial", "category: mial", "module: webb")
    tools = [*TOOLS, KnownTool("web_fetch", "web", "module:web")]
    assert [str(one) for one in judge(policy, tools)][1:] == [
        f"{tmp_path}/policy.yaml:3:5: rules.1: fits no tool. Did you mean 'mail__delete_mail'?",
        f"{tmp_path}/policy.yaml:4:5: rules.2: fits no tool. Did you mean 'mail'?",
        f"{tmp_path}/policy.yaml:5:5: rules.3: fits no tool. Did you mean 'web'?",
    ]


def test_rules_of_code_are_not_judged() -> None:
    assert judge(Policy(), Catalog()) == []


def test_the_gateway_refuses_to_start_when_no_server_can_bring_the_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, s=entry())
    policy_of(tmp_path, "name: delete_mial")
    assert main(["gateway", str(config), "--policy", str(tmp_path / "policy.yaml")]) == 1
    assert "policy.yaml:2:5: rules.0: fits no tool" in capsys.readouterr().err


@pytest.mark.process
def test_a_check_finds_the_typo_shows_what_is_pending_and_takes_what_is_optional(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, s=entry(), down=entry(start="die"))
    asked = ["gateway", str(config), "--policy", str(tmp_path / "policy.yaml"), "--check", "--json"]
    policy_of(tmp_path, "name: s__delete_al")
    assert main(asked) == 1
    assert "rules.0: fits no tool. Did you mean 's__delete_all'?" in capsys.readouterr().err

    policy_of(tmp_path, "name: s__delete_all", "name: s__later, optional: true", "name: down__delete")
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["rules"] == {
        "pending": [
            f"{tmp_path}/policy.yaml:4:5: rules.2: pending until its tools are known: mcp:down (not reachable)"
        ],
        "vanished": [],
    }


@pytest.mark.process
async def test_a_typo_that_shows_when_the_server_lists_lets_nothing_be_called(tmp_path: Path) -> None:
    gateway = made_gateway({"s": entry()}, policy=policy_of(tmp_path, "name: s__delete_al"))
    async with in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        refused = await call(client, "s__echo", {"text": "x"})
        assert refused.is_error
        assert "rules.0: fits no tool. Did you mean 's__delete_all'?" in text(refused)


@pytest.mark.process
async def test_a_pending_rule_counts_as_soon_as_its_server_lists(tmp_path: Path) -> None:
    gateway = made_gateway({"s": entry()}, policy=policy_of(tmp_path, "name: s__delete_all"))
    assert [one.fit for one in gateway.rules.judgements()] == [Fit.PENDING]
    async with in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert "is not allowed" in text(await call(client, "s__delete_all"))
        assert [one.fit for one in gateway.rules.judgements()] == [Fit.FITS]


@pytest.mark.process
async def test_a_lock_knows_the_tools_of_a_server_that_is_down(tmp_path: Path) -> None:
    lock = tmp_path / "tools.lock"
    async with made_gateway({"s": entry()}, lock=lock).running():
        pass
    gateway = made_gateway({"s": entry()}, lock=lock)
    async with gateway.running():
        await gateway.sources.wait_until_settled()
    gateway = made_gateway({"s": entry(start="die")}, lock=lock, policy=policy_of(tmp_path, "name: s__delete_all"))
    assert [one.fit for one in gateway.rules.judgements()] == [Fit.FITS]
    typo = made_gateway({"s": entry(start="die")}, lock=lock, policy=policy_of(tmp_path, "name: s__delete_al"))
    with pytest.raises(GatewayError, match="fits no tool"):
        async with typo.running():
            pass


@pytest.mark.process
async def test_a_tool_that_vanishes_gives_a_warning_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servers = {"s": entry(call={"echo": "change"})}  # its first call takes `delete_all` away
    policy = policy_of(tmp_path, "name: s__delete_all")
    policy = replace(policy, rules=(*policy.rules, Rule("allow", name="s__echo")))
    gateway = made_gateway(servers, policy=policy)
    async with in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert text(await call(client, "s__echo")) == "changed"
        await until(lambda: "s__delete_all" not in gateway.quarantine.catalog)
        with caplog.at_level(logging.WARNING, "toolcrib.gateway.rules"):
            assert text(await call(client, "s__echo")) == "changed"
            assert text(await call(client, "s__echo")) == "changed"
    assert caplog.messages == [f"{tmp_path}/policy.yaml:2:5: rules.0: fits no tool any more"]
    assert gateway.sources.sources[0].state is not SourceState.DOWN
