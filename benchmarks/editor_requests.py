"""What an editor of the CMS gets from the brain without an LLM: 202 requests in eight languages, judged by effect.

    python benchmarks/editor_requests.py build      # the half that the brain was built with
    python benchmarks/editor_requests.py measure    # the half that is measured once

`data/editor_requests_*.jsonl` were written before the brain. A row has what the user says (`say`, several turns where
it is a list) and what is right, any of: `change`, rows of the CMS with their new values (`+kind` is a new row, `-id` a
deleted one); `call`, a tool that reads; `ask`, a question, with a choice it must offer; `decline`, nothing at all.
A question for the user's yes in the last turn is answered with yes, so that a wrong proposal shows as what it would do.

Dangerous is every change, and every proposal of one, that the row does not name.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from sqlalchemy import select

from toolcrib.agent import Crib, confirm, run
from toolcrib.agent.events import ConfirmationRequired, ToolStarted
from toolcrib.agent.runner import collect
from toolcrib.search import ToolIndex
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms import build
from toolcrib_cms.cms import Cms
from toolcrib_cms.services import Services
from toolcrib_cms.storage.models import KINDS
from toolcrib_cms.storage.revisions import snapshot

DATA = Path(__file__).parent / "data"
Half: TypeAlias = Literal["build", "measure"]
Verdict: TypeAlias = Literal["right", "half", "asked", "wrong", "dangerous"]
Rows: TypeAlias = Mapping[str, Mapping[str, Any]]

_KEPT = {"version", "updated_at", "created_at", "published_at", "place"}  # what every write touches, or follows from it
_ID = ("page_", "post_", "entry_", "img_", "nav_")
_OUTSIDE = {"http_post", "pexels_downloadPhoto"}  # what changes something outside the database
_QUESTION = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One row: what the user says, and what is right."""

    lang: str
    say: Sequence[str]
    change: Mapping[str, Mapping[str, Any]] | None = None
    call: Mapping[str, Mapping[str, Any]] | None = None
    ask: bool | str = False
    decline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """How a request went."""

    request: Request
    verdict: Verdict
    answer: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    changed: Sequence[str]


def requests(half: Half) -> list[Request]:
    """The rows of a half."""
    rows = map(json.loads, (DATA / f"editor_requests_{half}.jsonl").read_text("utf-8").splitlines())
    return [Request(**{**row, "say": [row["say"]] if isinstance(row["say"], str) else row["say"]}) for row in rows]


async def score(request: Request, cms: Cms, index: ToolIndex, **options: Any) -> Scored:
    """Say it to the brain, with a CMS as new, and judge what became of it."""
    cms.reset()
    before = contents(cms)
    answer, calls, proposed = "", list[tuple[str, Mapping[str, Any]]](), 0
    written = False
    crib = Crib(cms.catalog, index=index, **options)
    async with SqliteStore(None) as store, store.open("editor") as session:
        for text in request.say:
            done = await run(session, text, crib=crib)
            answer = done.answer
            calls = [(event.name, event.arguments) for event in done.events if isinstance(event, ToolStarted)]
            written = written or any(name in _OUTSIDE for name, _ in calls)
            asked = [event.id for event in done.events if isinstance(event, ConfirmationRequired)]
            proposed = len(asked)
        for question in [one.id for one in session.confirmations][-proposed:] if proposed else []:
            await collect(confirm(session, question, approved=True, crib=crib))
    changes = list(_changes(before, contents(cms)))
    cms.close()
    verdict = _judge(request, changes, answer, calls, proposed=proposed, written=written)
    return Scored(request=request, verdict=verdict, answer=answer, calls=calls, changed=[one[0] for one in changes])


def contents(cms: Cms) -> Rows:
    """Every row of the CMS by its id."""
    with cms.store.transaction() as session:
        rows = [(kind, snapshot(row)) for kind, model in KINDS.items() for row in session.scalars(select(model))]
    slugs = {row["id"]: row["slug"] for kind, row in rows if kind == "page"}
    return {
        str(row["id"]).removeprefix("sec_"): {**row, "kind": kind, "page": slugs.get(row.get("page_id"))}
        for kind, row in rows
    }


def _changes(before: Rows, after: Rows) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What changed, in the words of the rows: `+kind`, `-id` or `id`, with the new values."""
    for key, row in after.items():
        if key not in before:
            yield f"+{row['kind']}", _flat({**row, "template": row.get("template_key")})
            continue
        old, new = _flat(before[key]), _flat(row)
        changed = {name: new.get(name) for name in {*old, *new} - _KEPT if old.get(name) != new.get(name)}
        if changed:
            yield key, changed
    for key, row in before.items():
        if key not in after:
            gone = row.get("page_id") in before and row["page_id"] not in after
            yield f"-{row['page_id'] if gone else key}", {}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    content = row.get("content")
    inner = {f"content.{name}": value for name, value in cast("Mapping[str, Any]", content or {}).items()}
    return {name: value for name, value in row.items() if name != "content"} | inner


def _judge(
    request: Request,
    changes: Sequence[tuple[str, Mapping[str, Any]]],
    answer: str,
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    proposed: int,
    written: bool,
) -> Verdict:
    wanted = request.change or {}
    left = dict(wanted)
    for key, values in changes:
        expected = left.pop(key, None) if key.startswith("+") else wanted.get(key)
        if not key.startswith("+"):
            left.pop(key, None)
        if expected is None or not _covers(expected, values, exact=not key.startswith(("+", "-"))):
            return "dangerous"
    if written or (proposed and not changes):  # a proposal that fails is still none that was asked for
        return "dangerous"
    if changes:
        return "half" if left else "right"
    asks = any(mark in answer for mark in _QUESTION)
    if request.call is not None and calls and _is_one_of(calls[-1], request.call):
        return "right"
    if request.ask and asks and (request.ask is True or request.ask.casefold() in answer.casefold()):
        return "right"
    if request.decline and not calls:
        return "right"
    return "asked" if asks or not calls else "wrong"


def _covers(expected: Mapping[str, Any], values: Mapping[str, Any], *, exact: bool) -> bool:
    """Whether the values are the expected ones; of a row that was there before, no others may have changed."""
    return all(_same(values.get(name), value) for name, value in expected.items()) and (
        not exact or set(values) <= set(expected)
    )


def _is_one_of(call: tuple[str, Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]]) -> bool:
    name, arguments = call
    return name in wanted and all(_same(arguments.get(key), value) for key, value in wanted[name].items())


def _same(value: object, wanted: object) -> bool:
    if isinstance(value, Mapping):  # an image stands as {"id": ...}
        return _same(cast("Mapping[str, object]", value).get("id"), wanted)
    if not isinstance(value, str) or not isinstance(wanted, str):
        return value == wanted
    said, meant = _plain(value), _plain(wanted)
    return said == meant or (not meant.startswith("http") and len(meant) > 0 and " " not in meant and meant in said)


def _plain(text: str) -> str:
    text = text.casefold().strip(" .")
    return next((text.removeprefix(start) for start in _ID if text.startswith(start)), text)


async def measure(half: Half, **options: Any) -> list[Scored]:
    """Every request of a half, each with a CMS as new."""
    cms = build(":memory:", services=Services())  # no keys: whatever the environment has
    index = ToolIndex(cms.catalog)
    return [await score(request, cms, index, **options) for request in requests(half)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of each request, and the sums; 1 if anything was dangerous or less than 70 % right."""
    parser = argparse.ArgumentParser(description="What an editor gets from the offline brain.")
    parser.add_argument("half", choices=("build", "measure"))
    parser.add_argument("--quiet", action="store_true", help="sums only")
    given = parser.parse_args(arguments)
    scored = asyncio.run(measure(given.half))
    for one in scored if not given.quiet else ():
        if one.verdict != "right":
            answer = " ".join(one.answer.split())[:160]
            calls = "; ".join(f"{name}({json.dumps(dict(args), ensure_ascii=False)})" for name, args in one.calls)
            print(f"{one.verdict:9} {one.request.lang} {' | '.join(one.request.say)}\n    {calls[:300]}\n    {answer}")
    sums = Counter(one.verdict for one in scored)
    by_language = Counter(one.request.lang for one in scored)
    right = Counter(one.request.lang for one in scored if one.verdict == "right")
    print(dict(sums), {lang: f"{right[lang]}/{count}" for lang, count in by_language.items()})
    return int(sums["dangerous"] > 0 or sums["right"] < 0.7 * len(scored))


if __name__ == "__main__":
    sys.exit(main())
