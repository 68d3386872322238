"""Profiles: several faces of one gateway, each with servers, tools, rules and a surface of its own.

A client chooses one by its address (`/mcp/design`) or by `--profile design`. What a profile leaves out does not exist
for its clients: it is not found, not called and not read. `default` is what clients get that choose none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pydantic import Field

from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.errors import GatewayError, did_you_mean
from toolcrib.policy.policy import Decision, Policy, Rule, Verdict, matches
from toolcrib.policy.reading import Part, RuleSpec, rules_of
from toolcrib.tools.tool import Tool
from toolcrib.yaml_file import Problem, YamlDocument

SurfaceName: TypeAlias = Literal["search", "browse", "code"]
DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One face of a gateway. Patterns such as `files__read_*`; None is everything."""

    name: str = DEFAULT
    servers: tuple[str, ...] | None = None  # by the names that configurations give them
    tools: tuple[str, ...] | None = None  # also resources and prompts
    without: tuple[str, ...] = ()  # tools that it leaves out
    rules: tuple[Rule, ...] = ()  # before those of the gateway's policy
    surface: SurfaceName | None = None  # None is that of the gateway
    callers: tuple[str, ...] | None = None  # names of tokens, or roles, that may use it
    # Where its patterns stand in a file, so that one that fits nothing is a mistake.
    watched: tuple[Rule, ...] = field(default=(), repr=False)

    def policy(self, base: Policy) -> "ProfilePolicy":
        """Who may call what through this profile."""
        return ProfilePolicy(
            rules=(*self.rules, *base.rules),
            by_risk=base.by_risk,
            trusted=base.trusted,
            servers=self.servers,
            tools=self.tools,
            without=self.without,
        )

    def admits(self, *names: str) -> bool:
        """Whether a caller with one of these names or roles may use it."""
        return self.callers is None or any(name and matches(one, name) for one in self.callers for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePolicy(Policy):
    """A policy for which everything that a profile leaves out is hidden."""

    servers: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((Policy.__hash__(self), self.servers, self.tools, self.without))

    def decide(self, tool: Tool, role: str | None = None) -> Verdict:
        """What may happen with a tool when this role asks, and why."""
        if tool.source != SOURCE and not self._includes(tool):
            return Verdict(Decision.HIDE, "the profile leaves it out")
        return Policy.decide(self, tool, role)

    def hides_nothing(self, role: str | None = None) -> bool:
        """Whether no tool, whatever it is, can be hidden from this role."""
        chosen = self.servers is not None or self.tools is not None or self.without
        return not chosen and Policy.hides_nothing(self, role)

    def _includes(self, tool: Tool) -> bool:
        return (
            (self.servers is None or any(matches(one, server_of(tool.source)) for one in self.servers))
            and (self.tools is None or any(matches(one, tool.name) for one in self.tools))
            and not any(matches(one, tool.name) for one in self.without)
        )


def server_of(source: str) -> str:
    """The name of a server as people write it: without what kind of source it is."""
    return source.partition(":")[2] or source


# Reading profiles from YAML.


class ProfileSpec(Part):
    """A profile in the file."""

    servers: tuple[str, ...] | None = Field(default=None, min_length=1)
    tools: tuple[str, ...] | None = Field(default=None, min_length=1)
    without: tuple[str, ...] = ()
    rules: tuple[RuleSpec, ...] = ()
    surface: SurfaceName | None = None
    callers: tuple[str, ...] | None = Field(default=None, min_length=1)


def profile_problems(profiles: Mapping[str, ProfileSpec]) -> Iterator[Problem]:
    """Names that cannot be part of an address."""
    for name in profiles:
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            yield Problem(("profiles", name), "stands in addresses; write it with letters, digits, - and _")


def profiles_of(specs: Mapping[str, ProfileSpec], document: YamlDocument) -> dict[str, Profile]:
    """The profiles of a file, by name."""
    return {name: _profile(name, spec, document) for name, spec in specs.items()}


def _profile(name: str, spec: ProfileSpec, document: YamlDocument) -> Profile:
    def place(*keys: str | int) -> str:
        return document.describe(Problem(("profiles", name, *keys), "")).rstrip(": ")

    rules = [one for number, rule in enumerate(spec.rules) for one in rules_of(rule, place("rules", number))]
    named = ((key, enumerate(getattr(spec, key) or ())) for key in ("tools", "without"))
    return Profile(
        name=name,
        servers=spec.servers,
        tools=spec.tools,
        without=spec.without,
        rules=tuple(rules),
        surface=spec.surface,
        callers=spec.callers,
        watched=(
            *(
                Rule(Decision.HIDE, name=one, place=place(key, number))
                for key, patterns in named
                for number, one in patterns
            ),
            *(
                Rule(Decision.HIDE, source=source, place=place("servers", number))
                for number, one in enumerate(spec.servers or ())
                for source in (f"*:{one}", one)
            ),
        ),
    )


def check_servers(profiles: Iterable[Profile], sources: Iterable[str]) -> None:
    """Raise `GatewayError` for a profile that names a server which no configuration has."""
    names = list(sources)
    if not all(":" in name for name in names):  # a shared catalog: its servers are known when it is read
        return
    known = [server_of(name) for name in names]
    lines: list[str] = []
    for profile in profiles:
        for number, wanted in enumerate(profile.servers or ()):
            if not any(matches(wanted, name) for name in known):
                places = [rule.place for rule in profile.watched if rule.source == f"*:{wanted}"]
                where = places[0] if places else f"profile {profile.name}: servers.{number}"
                lines.append(
                    " ".join(filter(None, (f"{where}: no server is named {wanted!r}.", did_you_mean(wanted, known))))
                )
    if lines:
        raise GatewayError("\n".join(lines), hint=f"There are: {', '.join(known) or 'none'}.")


def chosen(profiles: Mapping[str, Profile], name: str | None) -> Profile:
    """The profile of this name; without one, `default`, or the whole gateway where nobody wrote a `default`.

    Raises:
        GatewayError: There is no profile of this name.
    """
    if name is None:
        return profiles.get(DEFAULT, Profile())
    if name not in profiles:
        hint = (
            did_you_mean(name, profiles)
            or f"There are: {', '.join(profiles) or 'none; write them into the file of --setup'}."
        )
        raise GatewayError(f"There is no profile named {name!r}.", hint=hint)
    return profiles[name]


def all_rules(policy: Policy, profiles: Iterable[Profile]) -> Policy:
    """The rules and patterns of a policy and of profiles together, to be judged by what tools there are."""
    return replace(policy, rules=(*policy.rules, *(rule for one in profiles for rule in (*one.rules, *one.watched))))
