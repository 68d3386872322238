"""The JSON of requests and answers, with examples: what `/openapi.json` tells."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_TEXT = 20_000
MOST_QUERY = 1_000

Responses = dict[int | str, dict[str, Any]]  # what an operation may answer besides what it returns
Text = Annotated[str, Field(min_length=1, max_length=MOST_TEXT, examples=["Add a page about our opening hours"])]


class Shape(BaseModel):
    """What all of them share."""

    model_config = ConfigDict(extra="ignore")


class Refusal(Shape):
    """Why something was not done."""

    error: str = Field(examples=["There is no session 'a1b2'."])
    hint: str | None = Field(default=None, examples=["Did you mean 'a1b3'?"])


class AppShape(Shape):
    """What is served."""

    name: str = Field(examples=["Verdant CMS"])
    mode: str = Field(examples=["discovery"])
    surface: str = Field(examples=["search"], description="How the model finds tools; empty where it sees all.")
    model: str = Field(examples=["offline"])
    suggestions: list[str] = Field(examples=[["Show me all pages"]])
    remarks: dict[str, str] = Field(
        examples=[{"Show me all pages": "one search, one call"}], description="A few words on what a suggestion shows."
    )
    site: str | None = Field(examples=["/site/"], description="Where the site is that the agent works on.")
    version: str = Field(examples=["0.1.0"])


class NewSession(Shape):
    """A session that was made."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])


class SessionLine(Shape):
    """A session in a list."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])
    title: str = Field(examples=["Add a page about our opening hours"])
    updated_at: datetime
    messages: int = Field(examples=[6])
    running: bool = Field(default=False, description="Whether the agent is at work.")


class Message(Shape):
    """One thing said or done."""

    role: Literal["user", "assistant", "tool"]
    text: str = Field(examples=["The page is there: /site/hours?preview=1"])
    at: str | None = Field(default=None, examples=["2026-11-15T10:00:00+00:00"])
    name: str | None = Field(default=None, examples=["cms_createPage"], description="Of a tool.")
    arguments: Any = Field(default=None, examples=[{"title": "Hours"}], description="Of a tool.")
    call_id: str | None = Field(default=None, examples=["call_1"], description="Of a tool.")


class OpenConfirmation(Shape):
    """A call that waits for the user's yes."""

    id: str = Field(examples=["9d3f5a1c2b4e6870"])
    tool: str = Field(examples=["cms_deletePage"])
    arguments: dict[str, Any] = Field(examples=[{"slug": "old"}])
    created_at: datetime
    expires_at: datetime


class LoggedLine(Shape):
    """An event of an earlier run, as it was streamed, less the pieces of text."""

    id: int = Field(examples=[300000], description="The number it was streamed with.")
    at: datetime
    event: dict[str, Any] = Field(examples=[{"type": "answered", "text": "Done."}])


class SessionShape(Shape):
    """All of a session."""

    id: str = Field(examples=["5f0c1e9a7b3d2468"])
    title: str = Field(examples=["Add a page about our opening hours"])
    created_at: datetime
    updated_at: datetime
    messages: list[Message]
    memory: dict[str, Any] = Field(
        examples=[{"version": 1, "entities": [], "discovered": [], "used": [], "summary": ""}]
    )
    active: list[str] = Field(examples=[["cms_createPage"]], description="Tools the model sees now.")
    usage: dict[str, float] = Field(examples=[{"requests": 3, "input_tokens": 2100, "output_tokens": 80}])
    confirmations: list[OpenConfirmation]
    events: list[LoggedLine] = Field(description="The newest of the log; see `last_event_id`.")
    last_event_id: int = Field(examples=[700000], description="To follow from here; -1 when nothing happened yet.")
    running: bool = Field(description="Whether the agent is at work: `GET .../messages` listens to it.")


class NewMessage(Shape):
    """What the user says."""

    text: Text


class Answer(Shape):
    """The user's answer to a question."""

    approved: bool = Field(examples=[True])


class Stopped(Shape):
    """Whether there was a run to stop."""

    stopped: bool


class ToolLine(Shape):
    """A tool in a list."""

    name: str = Field(examples=["cms_searchImages"])
    description: str = Field(examples=["Search images by what they show."])
    category: str = Field(examples=["images"])
    risk: str = Field(examples=["safe"])
    confirm: bool = Field(examples=[False], description="Whether a call needs the user's yes.")
    source: str = Field(examples=["python"])


class ToolShape(ToolLine):
    """All of a tool."""

    parameters: dict[str, Any] = Field(examples=[{"type": "object", "properties": {"query": {"type": "string"}}}])
    protocol: dict[str, str] | None = Field(examples=[{"gotcha": "Scores closer to 0 are better."}])
    phrases: list[str] = Field(examples=[["find image"]])
    related: list[str] = Field(examples=[["cms_updateSectionImage"]])
    tokens: int = Field(examples=[120], description="What its definition takes in a request.")
    can_try: bool = Field(description="Whether `POST .../try` calls it.")


class Trial(Shape):
    """Arguments to try a tool with."""

    arguments: dict[str, Any] = Field(default_factory=dict[str, Any], examples=[{"query": "fern", "limit": 3}])


class Tried(Shape):
    """What it gave."""

    text: str = Field(examples=['[{"id":"img_fern"}]'])
    failed: bool
    took_ms: float = Field(examples=[1.4])


class Category(Shape):
    """A category and how many tools it has."""

    name: str = Field(examples=["images"])
    tools: int = Field(examples=[6])


class Query(Shape):
    """What to look for."""

    query: str = Field(max_length=MOST_QUERY, examples=["znajdź zdjęcie paproci"])
    limit: int = Field(default=5, ge=1, le=50, examples=[5])


class ExplainedHit(Shape):
    """A tool that was found, and why."""

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
    """What a search gave."""

    hits: list[ExplainedHit]
    confidence: float = Field(examples=[0.93])
    path: str = Field(examples=["dense"], description="Which arm decided.")
    took_ms: float = Field(examples=[0.4])
    reason: str = Field(examples=[""], description="Why there are no hits.")
    warnings: list[str] = Field(default=[])
    bm25: list[str] = Field(examples=[["cms_searchImages"]], description="The plain ranking by words, to compare.")
    nearest: list[str] = Field(examples=[[]], description="What came nearest when nothing fits.")


class FindingShape(Shape):
    """Something wrong with a tool, or that keeps it from being found."""

    tool: str = Field(examples=["cms_getPage"])
    rule: str = Field(examples=["phrase-not-found"])
    message: str = Field(examples=["Not in the first 3 for its own phrase 'show page'; it finds cms_listPages."])
    hint: str = Field(examples=["Say in the description what sets this tool apart."])


class Health(Shape):
    """Whether the server is up."""

    status: Literal["ok"] = "ok"


class Readiness(Shape):
    """Whether it can work, and what is in the way."""

    status: Literal["ready", "not ready"]
    reasons: list[str] = Field(examples=[[]])
    tools: int = Field(examples=[45])
    runs: int = Field(examples=[0])
    model: str = Field(examples=["offline"])


class ToolAtFault(Shape):
    """A tool whose results could not be read."""

    tool: str = Field(examples=["cms_listPages"])
    how: str = Field(
        examples=["called"], description="`called`: really. `sample`: on a result made from its own words."
    )
    reading: str = Field(examples=["missed"])
    message: str = Field(examples=["The result does not look as its extraction says."])


class ExtractionHealth(Shape):
    """Whether what tools give can be read into the working memory."""

    status: Literal["ok", "degraded"]
    tools_with_extraction: int = Field(examples=[28], description="Tools that declare where their entities stand.")
    custom_extractors: int = Field(examples=[2], description="Tools that read their results with a function.")
    checked: int = Field(examples=[24], description="Tools whose extraction ran.")
    called: list[str] = Field(examples=[["cms_listPages"]], description="Those that were really called.")
    unproven: list[str] = Field(examples=[["search_vector"]], description="Those that need arguments nobody knows.")
    at_fault: list[ToolAtFault]
    took_ms: float = Field(examples=[35.0])
