"""An app that can be run: its agents, their tools, and what the model will see of them."""

import shutil
from collections.abc import AsyncGenerator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from weakref import finalize

from pydantic import SecretStr
from pydantic_ai.models import Model

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event
from toolcrib.agent.limits import Limits
from toolcrib.agent.models import model_for
from toolcrib.agent.runner import RunResult, collected, stream
from toolcrib.apps.agent_tools import Heard
from toolcrib.apps.brains import model_of, settings_of, window_of
from toolcrib.apps.consistency import callees_of, entry_of
from toolcrib.apps.crew import Crew, surface_of
from toolcrib.apps.document import AppDocument, Mistake
from toolcrib.apps.spec import Agent, Spec
from toolcrib.apps.variables import VARIABLE, Variables
from toolcrib.catalog import Catalog
from toolcrib.discovery.get_tool import compact_surface
from toolcrib.discovery.modes import Mode, ModeDecision, choose_mode
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import AppError, ModelError, UnsetVariableError
from toolcrib.policy import Policy
from toolcrib.sources.group import SourceGroup
from toolcrib.stores.session import Session

_MODES = {"direct": Mode.DIRECT, "compact_direct": Mode.COMPACT, "discovery": Mode.DISCOVERY}
KEY_HINT = "Set it, or run without a language model: `--model offline`."


class App:
    """Made by `load_app`. `async with app:` starts what lives outside, such as MCP servers, and stops it."""

    def __init__(
        self,
        spec: Spec,
        document: AppDocument,
        crews: dict[str, Crew],
        *,
        variables: Variables,
        sources: SourceGroup,
        workdir: Path,
        removes_workdir: bool = False,
        model: Model | str | None = None,
    ) -> None:
        self.spec = spec
        self.workdir = workdir
        self.sources = sources
        self._document = document
        self._crews = crews
        self._variables = variables
        # Also when nobody closes the app.
        self._removal = finalize(self, shutil.rmtree, workdir, ignore_errors=True) if removes_workdir else None
        self._model = model
        self.listeners: list[Heard] = []  # told what happens while an agent works for another
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
        return self._crews[self.entry.id].catalog

    @property
    def policy(self) -> Policy:
        """What that agent may call."""
        return self._crews[self.entry.id].policy

    @property
    def session_log(self) -> Path | None:
        """The folder for logs of sessions."""
        named = self.spec.runtime.session_log
        return self._document.folder / named if named else None

    @cached_property
    def crib(self) -> Crib:
        """What runs the agent that talks. Everything an agent of the app needs is checked first.

        Raises:
            UnsetVariableError: A key is not set.
            AppError: A model cannot be used.
        """
        return self.cribs[self.entry.id]

    @cached_property
    def cribs(self) -> dict[str, Crib]:
        """What runs each agent."""
        return {name: self._crib(crew, self.models[name]) for name, crew in self._crews.items()}

    @cached_property
    def models(self) -> dict[str, Model]:
        """The model of each agent; look at it first, to hear early that a key is missing."""
        mistakes = self._unusable_brains()
        if mistakes:
            unset = all("is not set" in one.what for one in mistakes)
            raise self._document.error(mistakes, hint=KEY_HINT, kind=UnsetVariableError if unset else AppError)
        return {name: self._brain(crew) for name, crew in self._crews.items()}

    def missing_keys(self) -> list[str]:
        """What keeps the models from being asked, a line each; none when the app can run."""
        return [self._document.said(one) for one in self._unusable_brains()]

    def literal_keys(self) -> list[str]:
        """Keys that stand in the file itself, a line each."""
        found = [
            Mistake(("agents", crew.number, "brain", "config", "api_key"), _LITERAL)
            for crew in self._crews.values()
            if _is_literal(crew.agent.brain.config.api_key)
        ]
        named = self.spec.credentials.items()
        found += [Mistake(("credentials", name), _LITERAL) for name, value in named if _is_literal(value)]
        return [self._document.said(one) for one in found]

    def window(self, agent_id: str | None = None) -> tuple[int, str]:
        """How many tokens the model of an agent can read, and how that is known."""
        given = self.spec.runtime.context_window
        if given is not None:
            return given, "as the file says"
        return window_of(self._crews[agent_id or self.entry.id].agent.brain, self._model)

    def decision(self, agent_id: str | None = None) -> ModeDecision:
        """What an agent's model will see of its tools, and the numbers behind it."""
        crew = self._crews[agent_id or self.entry.id]
        toolbox = Toolbox(crew.catalog, crew.index, policy=crew.policy, role=crew.agent.role or None)
        return choose_mode(
            toolbox.tools,
            self.window(crew.agent.id)[0],
            self.spec.runtime.context_share,
            _MODES.get(self.spec.runtime.tool_injection),
            surface=self._surface(crew)(toolbox),
        )

    def hidden(self, text: str) -> str:
        """A text without the app's secrets, for whoever shows what others wrote, such as logs."""
        return self._variables.secrets.hidden(text)

    def stream(self, session: Session, text: str, *, context: object = None) -> AsyncGenerator[Event]:
        """What happens while the app answers the user's words."""
        return stream(session, text, crib=self.crib, context=context)

    async def run(self, session: Session, text: str, *, context: object = None) -> RunResult:
        """The same, when it is over."""
        return await collected(self.stream(session, text, context=context))

    def overhear(self, agent_id: str, event: Event) -> None:
        """Something happened while an agent worked for another one."""
        for listener in self.listeners:
            listener(agent_id, event)

    async def __aenter__(self) -> "App":
        await self.sources.start()
        await self.sources.settled()
        self._opened = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.sources.stop()
        if self._removal is not None:
            self._removal()

    def __repr__(self) -> str:
        return f"<App {self.spec.app.app_id!r}, {len(self._crews)} agents, {len(self.catalog)} tools>"

    def _unusable_brains(self) -> list[Mistake]:
        mistakes: list[Mistake] = []
        for crew in self._crews.values():
            try:
                self._brain(crew)
            except (UnsetVariableError, ModelError) as error:
                config = crew.agent.brain.config
                keys = (
                    ("config", "api_key") if config.api_key else ("config", "credential") if config.credential else ()
                )
                mistakes.append(Mistake(("agents", crew.number, "brain", *(keys or ("provider",))), str(error)))
        return mistakes

    def _brain(self, crew: Crew) -> Model:
        if self._model is not None:
            return model_for(self._model)
        return model_of(crew.agent.brain, self._variables)

    def _crib(self, crew: Crew, model: Model) -> Crib:
        runtime, brain = self.spec.runtime, crew.agent.brain
        mode = self.decision(crew.agent.id).mode
        if runtime.tool_injection == "auto" and self.sources.sources and not self._opened:
            mode = Mode.DISCOVERY  # nobody knows yet how many tools there will be
        limits = Limits(
            steps=runtime.max_turns,
            seconds=runtime.timeout,
            cost=runtime.max_cost,
            output_tokens=brain.max_tokens or Limits().output_tokens,
        )
        calls_agents = bool(callees_of(self.spec, crew.agent))
        return Crib(
            crew.catalog,
            model=model,
            index=crew.index,
            policy=crew.policy,
            role=crew.agent.role or None,
            pinned=crew.pinned,
            surface=compact_surface if mode is Mode.COMPACT else self._surface(crew),
            mode=mode,
            prompt=crew.prompt,
            limits=limits,
            guidance=crew.guidance,
            preload_tokens=runtime.preload,
            confirm_in_words=runtime.confirm_in_words,
            model_settings=settings_of(brain),
            # An agent that is called takes as long as an answer may take.
            toolbox_options={"timeout_seconds": runtime.timeout if calls_agents else runtime.tool_timeout},
        )

    def _surface(self, crew: Crew) -> Surface:
        elsewhere = (crew.agent.tools or self.spec.tools).a2a
        knows_agents = bool(elsewhere or callees_of(self.spec, crew.agent))
        return surface_of(self.spec.runtime.surface, self.sources.states, knows_agents)


_LITERAL = "a key stands in the file itself; write {{env.NAME}} instead"


def _is_literal(secret: object) -> bool:
    return isinstance(secret, SecretStr) and VARIABLE.search(secret.get_secret_value()) is None
