"""From a file to a `Spec`: every mistake at once, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from toolcrib.apps.consistency import contradictions
from toolcrib.apps.document import AppDocument, Mistake
from toolcrib.apps.spec import Spec
from toolcrib.errors import did_you_mean

_IN_WORDS_OF_YAML = {
    "model_type": "should be a mapping",
    "dict_type": "should be a mapping",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "missing": "is missing",
    "string_pattern_mismatch": "should be letters, digits, '_' and '-', beginning with a letter, at most 40",
    "too_short": "needs at least one entry",
}


def read_spec(path: str | Path) -> tuple[Spec, AppDocument]:
    """What an app's file says, and where.

    Raises:
        AppError: The file cannot be read, is not YAML, or says something that cannot be.
    """
    document = AppDocument.read(Path(path))
    mistakes = list(_duplicates(document))
    try:
        spec = Spec.model_validate(document.yaml.value)
    except ValidationError as error:
        rest = _without(document.yaml.value, error)
        more = () if rest is None else contradictions(rest)
        raise document.error([*mistakes, *_misfits(error), *more]) from None
    mistakes += contradictions(spec)
    if mistakes:
        raise document.error(mistakes)
    return spec, document


def _duplicates(document: AppDocument) -> Iterator[Mistake]:
    for keys, place in document.yaml.duplicates:
        first = document.yaml.place(keys).line
        yield Mistake(keys, f"this key stands twice, first in line {first}", place)


def _misfits(error: ValidationError) -> Iterator[Mistake]:
    for one in error.errors(include_url=False, include_context=False):
        keys = tuple(key for key in one["loc"] if key != "[key]")  # pydantic's mark for an error in a key itself
        yield Mistake(keys, _what_is_wrong(keys, one))


def _without(value: dict[Any, Any], error: ValidationError) -> Spec | None:
    """What the file says without the values that are wrong in themselves; None if that is no app."""
    rest = deepcopy(value)
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        *above, last = one["loc"]
        with suppress(KeyError, IndexError, TypeError):  # what is missing cannot be left out
            inner: Any = rest
            for key in above:
                inner = inner[key]
            if isinstance(inner, dict):  # an entry of a list stays: the numbers of the others would be wrong
                del inner[last]
    try:
        return Spec.model_validate(rest)
    except ValidationError:
        return None


def _what_is_wrong(keys: Sequence[str | int], error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        known = list(_model_at(keys[:-1]).model_fields)
        return f"unknown key. {did_you_mean(str(keys[-1]), known) or 'It can be ' + ', '.join(known) + '.'}"
    said = _IN_WORDS_OF_YAML.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
    said = said[0].lower() + said[1:]
    given = error["input"]
    # Nothing longer or more deeply nested is quoted, and nothing where a key may stand.
    is_word = isinstance(given, str | int | float) and len(str(given)) <= 40 and not _may_be_secret(keys)
    return f"{said}, not {given!r}" if is_word and error["type"] != "missing" else said


def _may_be_secret(keys: Sequence[str | int]) -> bool:
    return bool({"config", "credentials", "modules", "mcp_servers", "openapi", "a2a"} & set(map(str, keys)))


def _model_at(keys: Sequence[str | int]) -> type[BaseModel]:
    """The model whose mapping stands at a path."""
    model: type[BaseModel] = Spec
    for key in keys:
        if isinstance(key, str) and key in model.model_fields:  # others are names that the file gives
            model = next(_models_in(model.model_fields[key].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation such as `tuple[Rule, ...]` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
