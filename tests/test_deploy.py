"""The examples of how to deploy name things of ours: verbs, variables, paths. They must be there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from toolcrib import settings
from toolcrib.server.guard import OPEN
from toolcrib.server.options import PORT

DEPLOY = Path(__file__).parents[1] / "deploy"


def documents(name: str) -> list[Any]:
    yaml: Any = YAML(typ="safe")  # its own types are half unknown
    return list(yaml.load_all((DEPLOY / name).read_text(encoding="utf-8")))


@pytest.fixture
def compose() -> Any:
    return documents("docker-compose.yml")[0]


@pytest.fixture
def kubernetes() -> dict[str, Any]:
    return {one["kind"]: one for one in documents("kubernetes/toolcrib.yaml")}


def containers(kubernetes: dict[str, Any]) -> Iterator[Any]:
    pod = kubernetes["Deployment"]["spec"]["template"]["spec"]
    yield from (*pod["initContainers"], *pod["containers"])


def test_every_variable_is_one_that_we_read(compose: Any, kubernetes: dict[str, Any]) -> None:
    named = {name for service in ("migrate", "server") for name in compose["services"][service]["environment"]}
    named |= {entry["name"] for container in containers(kubernetes) for entry in container["env"]}

    assert named
    assert all(f"`{name}`" in (settings.__doc__ or "") for name in named)


def test_probes_ask_what_needs_no_token(kubernetes: dict[str, Any]) -> None:
    (container,) = kubernetes["Deployment"]["spec"]["template"]["spec"]["containers"]

    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] in OPEN


def test_all_speak_of_the_same_port(kubernetes: dict[str, Any]) -> None:
    (container,) = kubernetes["Deployment"]["spec"]["template"]["spec"]["containers"]

    assert container["ports"][0]["containerPort"] == PORT
    assert f"server:{PORT}" in (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert f"EXPOSE {PORT}" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_pods_may_nothing_and_keep_nothing(kubernetes: dict[str, Any]) -> None:
    pod = kubernetes["Deployment"]["spec"]["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers(kubernetes))
    assert all(set(volume) == {"name", "emptyDir"} for volume in pod["volumes"])


def test_no_secret_stands_in_an_example(compose: Any) -> None:
    for file in DEPLOY.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            assert "PASSWORD:" not in text or "${POSTGRES_PASSWORD:?" in text
    assert compose["services"]["server"]["environment"]["TOOLCRIB_TOKEN"].startswith("${TOOLCRIB_TOKEN:?")
