"""The JSON bodies of requests and responses, with examples, as `/openapi.json` documents them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

MAX_TEXT_CHARACTERS = 20_000
MAX_QUERY_CHARACTERS = 1_000

Responses = dict[int | str, dict[str, Any]]  # the other responses of an operation, by status


def _with_words(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "This text is empty")
    return text


Text = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TEXT_CHARACTERS, examples=["Add a page about our opening hours"]),
    AfterValidator(_with_words),
]


class Shape(BaseModel):
    """The base of all schemas: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class Refusal(Shape):
    """An error: what happened, and what to try next."""

    error: str = Field(examples=["There is no session 'a1b2'."])
    hint: str | None = Field(default=None, examples=["Did you mean 'a1b3'?"])


class AppShape(Shape):
    """The app that this server serves."""

    name: str = Field(examples=["Verdant CMS"])
    mode: str = Field(examples=["discovery"])
    surface: str = Field(examples=["search"], description="How the model finds tools; empty if it sees all of them.")
    model: str = Field(examples=["offline"])
    suggestions: list[str] = Field(examples=[["Show me all pages"]])
    remarks: dict[str, str] = Field(
        examples=[{"Show me all pages": "one search, one call"}],
        description="What a suggestion demonstrates, in a few words.",
    )
    site: str | None = Field(examples=["/site/"], description="The path of the site that the agent works on.")
    undo: bool = Field(default=False, examples=[True], description="Whether what calls changed can be undone.")
    version: str = Field(examples=["0.1.0"])


class Login(Shape):
    """A token, as the login field of the page sends it."""

    token: str = Field(max_length=MAX_QUERY_CHARACTERS, examples=["0f8c2d5e7a914b36"])


class NewSession(Shape):
    """The session that was created."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])


class NewTitle(Shape):
    """The title that a session gets."""

    title: Text


class Feedback(Shape):
    """A rating of one run."""

    run: int = Field(ge=0, le=2**53, examples=[0], description="The id of its event `run_started`.")
    good: bool = Field(examples=[False])
    note: str = Field(default="", max_length=MAX_QUERY_CHARACTERS, examples=["It should have archived the post."])
    tool: str | None = Field(
        default=None, max_length=100, examples=["cms_archivePost"], description="The tool that would have been right."
    )


class Learned(Shape):
    """The tools to which the search now leads with the words of that run."""

    learned: list[str] = Field(examples=[["cms_archivePost"]])


class SessionLine(Shape):
    """A session in a list."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])
    title: str = Field(examples=["Add a page about our opening hours"])
    updated_at: datetime
    messages: int = Field(examples=[6])
    running: bool = Field(default=False, description="Whether the session has an active run.")


class Message(Shape):
    """A message of the user or the agent, or a tool call with its result."""

    role: Literal["user", "assistant", "tool"]
    text: str = Field(examples=["The page is ready: /site/hours?preview=1"])
    at: str | None = Field(default=None, examples=["2026-11-15T10:00:00+00:00"])
    name: str | None = Field(default=None, examples=["cms_createPage"], description="The tool that was called.")
    arguments: Any = Field(default=None, examples=[{"title": "Hours"}], description="The arguments of the call.")
    call_id: str | None = Field(default=None, examples=["call_1"], description="The id of the call.")


class OpenConfirmation(Shape):
    """A call that waits for the user's confirmation."""

    id: str = Field(examples=["9d3f5a1c2b4e6870"])
    tool: str = Field(examples=["cms_deletePage"])
    arguments: dict[str, Any] = Field(examples=[{"slug": "old"}])
    created_at: datetime
    expires_at: datetime


class LoggedLine(Shape):
    """An event in the session's log, as it was streamed. Text deltas are not logged."""

    id: int = Field(examples=[300000], description="The id that the event was streamed with.")
    at: datetime
    event: dict[str, Any] = Field(examples=[{"type": "answered", "text": "Done."}])


class SessionShape(Shape):
    """A session in full."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])
    title: str = Field(examples=["Add a page about our opening hours"])
    created_at: datetime
    updated_at: datetime
    messages: list[Message]
    memory: dict[str, Any] = Field(
        examples=[{"version": 1, "entities": [], "discovered": [], "used": [], "summary": ""}]
    )
    active: list[str] = Field(examples=[["cms_createPage"]], description="Tools that the model currently sees.")
    usage: dict[str, float] = Field(examples=[{"requests": 3, "input_tokens": 2100, "output_tokens": 80}])
    confirmations: list[OpenConfirmation]
    events: list[LoggedLine] = Field(description="The newest events of the log.")
    last_event_id: int = Field(examples=[700000], description="The id to resume after; -1 if there are no events yet.")
    running: bool = Field(description="Whether there is an active run: `GET .../messages` follows it.")


ModelName = Annotated[
    str | None,
    Field(max_length=200, examples=["local:qwen3"], description="A model of `GET /api/models`; without it the app's."),
]


class NewMessage(Shape):
    """A message of the user."""

    text: Text
    model: ModelName = None


class Answer(Shape):
    """The user's answer to a confirmation."""

    approved: bool = Field(examples=[True])
    arguments: dict[str, Any] | None = Field(
        default=None,
        examples=[{"pageId": "page_old"}],
        description="What it is called with instead, if the user changed it: the yes is to exactly these arguments.",
    )
    model: ModelName = None


class ChangedField(Shape):
    """One value that a call makes different."""

    name: str = Field(examples=["status"])
    before: str = Field(examples=["draft"])
    after: str = Field(examples=["published"])


class ChangeShape(Shape):
    """One thing that a call changes."""

    kind: str = Field(examples=["page"])
    title: str = Field(examples=["Old pricing"])
    action: str = Field(examples=["delete"])
    path: str | None = Field(default=None, examples=["/site/old-pricing"], description="Where it can be looked at.")
    picture: str | None = Field(default=None, examples=["/site/images/hero.jpg"])
    fields: list[ChangedField] = []


class CallPreview(Shape):
    """A call that waits for the user's confirmation, as people want to see it."""

    id: str = Field(examples=["9d3f5a1c2b4e6870"])
    tool: str = Field(examples=["cms_deletePage"])
    arguments: dict[str, Any] = Field(examples=[{"pageId": "page_old"}])
    parameters: dict[str, Any] = Field(description="The schema of the arguments.")
    subject: str = Field(examples=["Old pricing"], description="The thing it is about; empty if that is not known.")
    changes: list[ChangeShape] = Field(description="What would be different, the most important first.")
    dry_run: str = Field(default="", description="What the tool says would happen, where it can be asked.")
    refusal: str = Field(default="", description="Why the call would fail as things are.")


class CallChanges(Shape):
    """What a call changed, and whether that was undone."""

    call: str = Field(examples=["5f0c:3:call_1"], description="The id to undo it by.")
    tool: str = Field(examples=["cms_deletePage"])
    undone: bool
    changes: list[ChangeShape]


class Undo(Shape):
    """The call to undo."""

    call: str = Field(max_length=MAX_QUERY_CHARACTERS, examples=["5f0c:3:call_1"])


class ModelShape(Shape):
    """A model that can be chosen."""

    name: str = Field(examples=["local:qwen3"])
    by: Literal["key", "local", "rules"] = Field(
        description="`key`: of a provider whose key is set. `local`: of a server on this machine. `rules`: none."
    )
    note: str = Field(examples=["Ollama at http://127.0.0.1:11434/v1"])


class ModelList(Shape):
    """The models that messages can choose, and the app's own."""

    current: str = Field(examples=["offline"])
    models: list[ModelShape]


class Stopped(Shape):
    """Whether there was an active run to stop."""

    stopped: bool


class ToolLine(Shape):
    """A tool in a list."""

    name: str = Field(examples=["cms_searchImages"])
    description: str = Field(examples=["Search images by what they show."])
    category: str = Field(examples=["images"])
    risk: str = Field(examples=["safe"])
    confirm: bool = Field(examples=[False], description="Whether a call needs the user's confirmation.")
    source: str = Field(examples=["python"])


class ToolShape(ToolLine):
    """A tool in full."""

    parameters: dict[str, Any] = Field(examples=[{"type": "object", "properties": {"query": {"type": "string"}}}])
    protocol: dict[str, str] | None = Field(examples=[{"gotcha": "Scores closer to 0 are better."}])
    phrases: list[str] = Field(examples=[["find image"]])
    related: list[str] = Field(examples=[["cms_updateSectionImage"]])
    tokens: int = Field(examples=[120], description="The tokens of its definition in a request.")
    can_try: bool = Field(description="Whether `POST .../try` may call it, if need be after a yes.")


class Trial(Shape):
    """The arguments of a trial call."""

    arguments: dict[str, Any] = Field(default_factory=dict[str, Any], examples=[{"query": "fern", "limit": 3}])
    approved: str | None = Field(
        default=None,
        max_length=MAX_QUERY_CHARACTERS,
        examples=["9d3f5a1c2b4e6870"],
        description="The `asks` of the answer that this is the yes to; with the same arguments, once.",
    )


class Tried(Shape):
    """The result of a trial call."""

    text: str = Field(examples=['[{"id":"img_fern"}]'])
    failed: bool
    asks: str | None = Field(
        default=None, examples=["9d3f5a1c2b4e6870"], description="Set if it was not called: it needs your yes first."
    )
    reason: str = Field(default="", examples=["it is destructive"], description="Why it asks.")
    took_ms: float = Field(examples=[1.4])


class Category(Shape):
    """A category, and the number of its tools."""

    name: str = Field(examples=["images"])
    tools: int = Field(examples=[6])


class Query(Shape):
    """A search query."""

    query: str = Field(max_length=MAX_QUERY_CHARACTERS, examples=["znajdź zdjęcie paproci"])
    limit: int = Field(default=5, ge=1, le=50, examples=[5])


class ExplainedHit(Shape):
    """A hit, and why it was found."""

    name: str = Field(examples=["cms_searchImages"])
    score: float = Field(examples=[0.93])
    why: str = Field(examples=["words: image"])
    description: str = Field(default="", examples=["Search images by what they show."])
    lexical_rank: int | None = Field(examples=[1])
    lexical_score: float = Field(examples=[7.1])
    dense_rank: int | None = Field(examples=[1])
    cosine: float | None = Field(examples=[0.71])
    matched: list[str] = Field(examples=[["image"]])
    missing: list[str] = Field(examples=[["fern"]])


class Found(Shape):
    """The result of a search."""

    hits: list[ExplainedHit]
    confidence: float = Field(examples=[0.93])
    path: str = Field(examples=["dense"], description="The arm of the search that decided.")
    took_ms: float = Field(examples=[0.4])
    reason: str = Field(examples=[""], description="Why there are no hits.")
    warnings: list[str] = Field(default=[])
    bm25: list[str] = Field(examples=[["cms_searchImages"]], description="The lexical ranking alone, for comparison.")
    nearest: list[str] = Field(examples=[[]], description="The closest tools, if there are no hits.")


class FindingShape(Shape):
    """A problem of a tool, or something that makes it hard to find."""

    tool: str = Field(examples=["cms_getPage"])
    rule: str = Field(examples=["phrase-not-found"])
    message: str = Field(
        examples=["Not in the first 3 hits for its own phrase 'show'; the search returns cms_listPages."]
    )
    hint: str = Field(examples=["State in the description what sets this tool apart."])


class Health(Shape):
    """Whether the server is up."""

    status: Literal["ok"] = "ok"


class Readiness(Shape):
    """Whether the server can process messages, and if not, why."""

    status: Literal["ready", "not ready"]
    reasons: list[str] = Field(examples=[[]])
    tools: int = Field(examples=[45])
    runs: int = Field(examples=[0])
    model: str = Field(examples=["offline"])


class ToolAtFault(Shape):
    """A tool whose results could not be read."""

    tool: str = Field(examples=["cms_listPages"])
    how: str = Field(
        examples=["called"],
        description="`called`: on the result of a call. `sample`: on a sample made from the extraction.",
    )
    reading: str = Field(examples=["missed"])
    message: str = Field(examples=["The result does not look as its extraction says."])


class ExtractionHealth(Shape):
    """Whether entities can be extracted from the results of tools."""

    status: Literal["ok", "degraded"]
    tools_with_extraction: int = Field(examples=[28], description="Tools that declare where their entities stand.")
    custom_extractors: int = Field(examples=[2], description="Tools that read their results with a function.")
    checked: int = Field(examples=[24], description="Tools whose extraction ran.")
    called: list[str] = Field(examples=[["cms_listPages"]], description="Tools that were called.")
    unproven: list[str] = Field(
        examples=[["search_vector"]], description="Tools that could not be checked: a call needs arguments."
    )
    at_fault: list[ToolAtFault]
    took_ms: float = Field(examples=[35.0])
