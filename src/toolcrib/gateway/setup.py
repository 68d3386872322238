"""The file of `toolcrib gateway --setup`: what a gateway for several people or projects needs besides its servers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from toolcrib.errors import GatewayError
from toolcrib.gateway.oauth import OAuthSpec
from toolcrib.gateway.profiles import Profile, ProfileSpec, profile_problems, profiles_of
from toolcrib.policy.reading import Part
from toolcrib.yaml_file import Problem, YamlDocument, validate

HINT = "Nothing was started; correct the file. Its keys are in the guide to the gateway."


class SetupFile(Part):
    """The keys of the file."""

    profiles: dict[str, ProfileSpec] = Field(default_factory=dict[str, ProfileSpec])
    oauth: OAuthSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the file says."""

    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    oauth: OAuthSpec | None = None  # over HTTP, tokens of an authorization server are taken, too


def read_setup(path: Path) -> Setup:
    """The setup of a YAML file.

    Raises:
        GatewayError: The file cannot be used; the message has a line for each mistake, with its line and column.
    """
    document = YamlDocument.read_safely(path, GatewayError)
    file, problems = validate(document, SetupFile, _problems)
    if file is None or problems:
        raise GatewayError(document.report(problems), hint=HINT)
    return Setup(profiles=profiles_of(file.profiles, document), oauth=file.oauth)


def _problems(file: SetupFile) -> Iterator[Problem]:
    yield from profile_problems(file.profiles)
