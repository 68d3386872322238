"""An app that can be run: its agents, their tools, and what the model will see of them."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple
from weakref import finalize

from pydantic import SecretStr
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event
from toolcrib.agent.models import KeyedModel, model_for
from toolcrib.agent.runner import RunResult, collect, stream
from toolcrib.apps.load import AppDocument, entry_of
from toolcrib.apps.session_log import SessionLog
from toolcrib.apps.spec import Agent, Brain, Spec, SurfaceName
from toolcrib.apps.tools import with_agents
from toolcrib.apps.variables import VARIABLE, Variables
from toolcrib.catalog.approvals import Quarantine, open_lock
from toolcrib.catalog.catalog import Catalog
from toolcrib.credentials import LOCAL, CredentialStore, current_user
from toolcrib.discovery.modes import Mode, ModeDecision, choose_mode
from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.discovery.surfaces.display import SourceStates
from toolcrib.discovery.surfaces.domains import domain_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import (
    AppError,
    CredentialError,
    MissingCredentialError,
    ModelError,
    ToolcribError,
    UnsetVariableError,
    require,
)
from toolcrib.policy.coverage import HINT, Fit, Judgement, PendingSource, judge
from toolcrib.policy.policy import Policy
from toolcrib.settings import OFFLINE
from toolcrib.sources.names import prefix_of
from toolcrib.sources.source import SourceGroup, has_listed
from toolcrib.stores.session import Session
from toolcrib.yaml_file import Problem

# From a `brain` to a model: which provider, which wire, whose key.

DEFAULT_WINDOW = 128_000  # tokens, of a model that nothing is known about
_OFFLINE_WINDOW = 200_000  # it reads what it likes; this is what models of the day have


class _Provider(NamedTuple):
    url: str
    key: str  # the variable that holds it
    wire: str


# Where a key given in the file goes; without one, Pydantic AI reads the variable by itself.
_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "openai-chat"),
    "anthropic": _Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    "openrouter": _Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai-chat"),
    "deepseek": _Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "openai-chat"),
    "groq": _Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai-chat"),
    "mistral": _Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "openai-chat"),
    "ollama": _Provider("http://localhost:11434/v1", "", "openai-chat"),
}
_WIRES = {"openai_compat": "openai-chat", "openai_responses": "openai-responses", "anthropic": "anthropic"}


def model_of(brain: Brain, variables: Variables, credentials: CredentialStore) -> Model:
    """The model that a brain names. One whose key is each user's own asks for it at each request.

    Raises:
        UnsetVariableError: Its key is not set.
        MissingCredentialError: The app has no such credential.
        ModelError: There is no such provider, or it cannot be used.
    """
    if brain.provider == OFFLINE:
        return model_for(OFFLINE)
    known = _PROVIDERS.get(brain.provider)
    url = variables.expanded(brain.config.base_url)
    wire = _WIRES.get(brain.backend) or (known.wire if known else "openai-chat")
    address = url or (known.url if known else "")
    if brain.credential is not None:
        if not address:
            raise _no_address(brain)
        if brain.credential.scope == "per_user":

            def key_of_user() -> str:
                return stored_key(brain, variables, credentials, current_user())

            return KeyedModel(f"{wire}:{brain.model}", base_url=address, key=key_of_user)
        key = stored_key(brain, variables, credentials, None)
        return model_for(f"{wire}:{brain.model}", base_url=address, api_key=key)
    key = _key(brain, variables)
    if key is None and known is not None and not url:
        if known.key and not variables.environment.get(known.key):
            raise UnsetVariableError(f"the environment variable {known.key} is not set")
        key = variables.environment.get(known.key)
        if key:
            variables.secrets.add(key)
    if not url and known is None:
        if brain.backend in ("auto", "anthropic"):
            return model_for(f"{brain.provider}:{brain.model}")
        raise _no_address(brain)
    return model_for(f"{wire}:{brain.model}", base_url=address or None, api_key=key)


def stored_key(brain: Brain, variables: Variables, credentials: CredentialStore, user: str | None) -> str:
    """The key that a brain's `credential` means for a user, or None for the app.

    What the store holds counts first, then the name under `credentials` in the file, then `config.api_key`.

    Raises:
        MissingCredentialError: None of them is there.
    """
    assert brain.credential is not None
    name = brain.credential.ref
    found, reason = credentials.get(name, user=user), ""
    if found is not None:
        key = found.get_secret_value()
        variables.secrets.add(key)
        return key
    fallbacks = (variables.credentials.get(name), brain.config.api_key)
    for fallback in fallbacks:
        try:
            if fallback is not None:
                return variables.expanded(fallback)
        except UnsetVariableError as error:
            reason = str(error)
    raise MissingCredentialError(name, user, also=reason)


def _no_address(brain: Brain) -> ModelError:
    return ModelError(f"config.base_url: is missing; where is {brain.provider!r}?", hint="Give its address.")


def settings_of(brain: Brain) -> ModelSettings:
    """The settings of each request to the provider."""
    settings = ModelSettings()
    for name in ("temperature", "top_p", "seed"):
        if (value := brain.setting(name)) is not None:
            settings[name] = value
    return settings


def window_of(brain: Brain, model: Model | str | None) -> tuple[int, str]:
    """How many tokens a model can read, and how that is known; `model` takes the place of the brain's."""
    name = model if isinstance(model, str) else f"{brain.provider}:{brain.model}" if model is None else model.model_name
    provider, found, rest = name.partition(":")
    if name == OFFLINE or provider == OFFLINE:
        return _OFFLINE_WINDOW, "as models of the day have"
    try:
        from genai_prices.data_snapshot import get_snapshot  # late, and only with the extra `tokens`

        _, held = get_snapshot().find_provider_model(rest if found else name, None, provider if found else None, None)
    except (ImportError, LookupError):
        return DEFAULT_WINDOW, "a guess: nothing is known of the model"
    if held.context_window is None:
        return DEFAULT_WINDOW, "a guess: nothing is known of the model"
    return held.context_window, f"what is known of {name}"


def _key(brain: Brain, variables: Variables) -> str | None:
    if brain.config.credential:
        return variables.credential(brain.config.credential)
    return None if brain.config.api_key is None else variables.expanded(brain.config.api_key)


def surface_of(name: SurfaceName, states: SourceStates, knows_agents: bool, limits: CodeLimits) -> Surface:
    """The tools by which an agent finds others; who may call agents can also discover them."""
    surface: Surface = domain_surface
    if name == "search":
        surface = partial(search_surface, sources=states)
    elif name == "browse":
        surface = partial(browse_surface, sources=states)
    elif name == "code":
        require("code", "`surface: code`")
        surface = partial(code_surface, sources=states, limits=limits)
    return with_agents(surface) if knows_agents else surface


KEY_HINT = "Set it, or run without a language model: `--model offline`."


class App:
    """Made by `load_app`. `async with app:` starts what lives outside, such as MCP servers, and stops it."""

    def __init__(
        self,
        spec: Spec,
        document: AppDocument,
        cribs: dict[str, Crib],
        *,
        variables: Variables,
        sources: SourceGroup,
        quarantines: Sequence[Quarantine] = (),
        lock: Path | None = None,
        workdir: Path,
        removes_workdir: bool = False,
        model: Model | str | None = None,
        credentials: CredentialStore,
        mode: Mode | None = None,
    ) -> None:
        self.spec = spec
        self._credentials = credentials
        self.workdir = workdir
        self.sources = sources
        self.lock = lock  # the file of approved definitions; None if nothing is pinned
        self._quarantines = quarantines
        self._document = document
        self._agents = {agent.id: agent for agent in spec.agents}
        self._cribs = cribs  # by agent; without a model, and before the mode is chosen
        self._variables = variables
        # Also when nobody closes the app.
        self._removal = finalize(self, shutil.rmtree, workdir, ignore_errors=True) if removes_workdir else None
        self._model = model
        self._mode = mode  # None: what fits
        self._opened = False  # whether the sources outside were asked for their tools

    @property
    def name(self) -> str:
        """The app's name for people."""
        return self.spec.app.name or self.spec.app.app_id

    @property
    def entry(self) -> Agent:
        """The agent that talks with the user."""
        return entry_of(self.spec)

    @property
    def catalog(self) -> Catalog:
        """The tools of the agent that talks."""
        return self._cribs[self.entry.id].catalog

    @property
    def policy(self) -> Policy:
        """What that agent may call."""
        return self._cribs[self.entry.id].policy

    @property
    def session_log(self) -> Path | None:
        """The folder for logs of sessions."""
        named = self.spec.runtime.session_log
        return self._document.folder / named if named else None

    @cached_property
    def crib(self) -> Crib:
        """The crib of the agent that talks. Everything an agent of the app needs is checked first.

        Raises:
            UnsetVariableError: A key is not set.
            AppError: A model cannot be used.
        """
        return self.cribs[self.entry.id]

    @cached_property
    def cribs(self) -> dict[str, Crib]:
        """The crib of each agent."""
        log = None if self.session_log is None else SessionLog(self.session_log)
        return {name: self._ready(name, log) for name in self._cribs}

    @cached_property
    def models(self) -> dict[str, Model]:
        """The model of each agent. Keys that are each user's own are asked for when a user's run needs them."""
        self._refuse(self._unusable_brains(None))
        return {name: self._brain(agent) for name, agent in self._agents.items()}

    def require_keys(self, user: str = LOCAL) -> None:
        """Raise an error early if a key is missing, also one of this user's own.

        Raises:
            UnsetVariableError: A key is not set, or the user has no such credential.
            AppError: A model cannot be used.
        """
        self._refuse(self._unusable_brains(user))

    def missing_keys(self, user: str = LOCAL) -> list[str]:
        """Why models cannot be used for this user, a line each; none if the app can run."""
        return [self._document.describe(problem) for problem, _ in self._unusable_brains(user)]

    @property
    def runs_without_sandbox(self) -> bool:
        """Whether commands of the module `shell` can do what the user can, because bubblewrap does not work here."""
        from toolcrib.sources.modules.process import find_bubblewrap  # late: most apps run no commands

        has_shell = any(tool.source == "module:shell" for crib in self._cribs.values() for tool in crib.catalog)
        return has_shell and find_bubblewrap() is None

    @property
    def held_back(self) -> list[str]:
        """The tools of sources that wait until `toolcrib gateway approve`: new ones, and those that were changed."""
        return [tool.name for quarantine in self._quarantines for tool in quarantine.quarantined]

    def rules(self) -> list[Judgement]:
        """What is known of each rule of the capabilities: whether it fits a tool of an agent that it is for."""
        found: dict[str, Judgement] = {}
        for crib in self._cribs.values():
            held = [
                tool
                for quarantine in self._quarantines
                if quarantine.catalog is crib.catalog
                for tool in quarantine.quarantined
            ]
            names = [source.name for source in self.sources.sources]
            for one in judge(crib.policy, [*crib.catalog, *held], self._pending_sources(), names):
                best = found.get(one.place)
                if best is None or list(Fit).index(one.fit) < list(Fit).index(best.fit):
                    found[one.place] = one
        return list(found.values())

    def _pending_sources(self) -> list[PendingSource]:
        """Sources that have not listed their tools."""
        return [
            PendingSource(name=source.name, state=source.state, prefix=prefix_of(source))
            for source in self.sources.sources
            if not has_listed(source)
        ]

    def require_rules(self) -> None:
        """Raise `AppError` if a rule fits no tool, and no source can bring one."""
        if mistakes := [str(one) for one in self.rules() if one.is_mistake]:
            raise AppError(self.hidden("\n".join(mistakes)), hint=HINT)

    def literal_keys(self) -> list[str]:
        """Keys that stand in the file itself, a line each."""
        found = [
            Problem(("agents", number, "brain", "config", "api_key"), _LITERAL)
            for number, agent in enumerate(self.spec.agents)
            if _is_literal(agent.brain.config.api_key)
        ]
        named = self.spec.credentials.items()
        found += [Problem(("credentials", name), _LITERAL) for name, value in named if _is_literal(value)]
        return [self._document.describe(one) for one in found]

    def window(self, agent_id: str | None = None) -> tuple[int, str]:
        """How many tokens the model of an agent can read, and how that is known."""
        given = self.spec.runtime.context_window
        if given is not None:
            return given, "as the file says"
        return window_of(self._agents[agent_id or self.entry.id].brain, self._model)

    def decision(self, agent_id: str | None = None) -> ModeDecision:
        """What an agent's model will see of its tools, and the numbers behind it."""
        crib = self._cribs[agent_id or self.entry.id]
        toolbox = Toolbox(crib.catalog, crib.tool_index, policy=crib.policy, role=crib.role)
        return choose_mode(
            toolbox.tools,
            self.window(agent_id)[0],
            self.spec.runtime.context_share,
            self._mode,
            surface=crib.surface(toolbox) if crib.surface else (),
        )

    def hidden(self, text: str) -> str:
        """A text without the app's secrets, such as a line of a log."""
        return self._variables.secrets.hidden(text)

    def stream(self, session: Session, text: str, *, context: object = None) -> AsyncGenerator[Event]:
        """What happens while the app answers the user's words."""
        for quarantine in self._quarantines:
            quarantine.refresh()  # what was approved meanwhile
        return stream(session, text, crib=self.crib, context=context)

    async def run(self, session: Session, text: str, *, context: object = None) -> RunResult:
        """As `stream`, but returns when the run is over."""
        return await collect(self.stream(session, text, context=context))

    async def __aenter__(self) -> "App":
        if self.lock is not None and self.sources.sources:
            approvals = await asyncio.to_thread(open_lock, self.lock, [source.name for source in self.sources.sources])
            for quarantine in self._quarantines:
                quarantine.lock = approvals
        await self.sources.start()
        await self.sources.wait_until_settled()
        try:
            self.require_rules()
        except AppError:
            await self.__aexit__(None, None, None)
            raise
        self._opened = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.spec.runtime.index == "postgres":
            # Before the sources stop and take their tools away: other replicas share the index.
            for crib in self._cribs.values():
                crib.tool_index.close()
        for quarantine in self._quarantines:
            quarantine.close()
        await self.sources.stop()
        if self._removal is not None:
            self._removal()

    def __repr__(self) -> str:
        return f"<App {self.spec.app.app_id!r}, {len(self._cribs)} agents, {len(self.catalog)} tools>"

    def _refuse(self, unusable: list[tuple[Problem, ToolcribError]]) -> None:
        if unusable:
            unset = all(isinstance(error, UnsetVariableError | MissingCredentialError) for _, error in unusable)
            mistakes = [problem for problem, _ in unusable]
            raise self._document.error(mistakes, hint=KEY_HINT, kind=UnsetVariableError if unset else AppError)

    def _unusable_brains(self, user: str | None) -> list[tuple[Problem, ToolcribError]]:
        """What is wrong with the brains, for this user; without one, apart from what is each user's own."""
        found: list[tuple[Problem, ToolcribError]] = []
        for number, agent in enumerate(self.spec.agents):
            brain = agent.brain
            try:
                self._brain(agent)
                if self._model is None and user is not None and brain.credential and brain.credential.scope != "app":
                    stored_key(brain, self._variables, self._credentials, user)
            except (UnsetVariableError, ModelError) as error:
                found.append((Problem(("agents", number, "brain", *_key_place(brain)), str(error)), error))
            except CredentialError as error:
                message = f"{error} {error.hint}"
                found.append((Problem(("agents", number, "brain", "credential", "ref"), message), error))
        return found

    def _brain(self, agent: Agent) -> Model:
        if self._model is not None:
            return model_for(self._model)
        return model_of(agent.brain, self._variables, self._credentials)

    def _ready(self, agent_id: str, log: SessionLog | None) -> Crib:
        """An agent's crib with its model, the mode that fits its tools, and the session log."""
        mode = self.decision(agent_id).mode
        if self._mode is None and self.sources.sources and not self._opened:
            mode = Mode.DISCOVERY  # how many tools there will be is not known yet
        crib = self._cribs[agent_id]
        on_event = None if log is None else log.write if agent_id == self.entry.id else log.for_agent(agent_id)
        surface = compact_surface if mode is Mode.COMPACT else crib.surface
        return replace(
            crib, model=self.models[agent_id], mode=mode, surface=surface, on_event=on_event, hide_secrets=self.hidden
        )


def _key_place(brain: Brain) -> tuple[str, ...]:
    """Where in a brain its key stands, or would."""
    config = brain.config
    return ("config", "api_key") if config.api_key else ("config", "credential") if config.credential else ("provider",)


_LITERAL = "a key stands in the file itself; write {{env.NAME}} instead"


def _is_literal(secret: object) -> bool:
    return isinstance(secret, SecretStr) and VARIABLE.search(secret.get_secret_value()) is None
