"""What the brain says, in the languages it can say it in (`wording.toml`); English for the others."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


def say(key: str, language: str, **values: object) -> str:
    """A text in a language, or in English."""
    texts = _texts()
    text = texts.get(language, {}).get(key) or texts["en"][key]
    return text.format(**values).strip()


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files("toolcrib.agent.offline").joinpath("wording.toml").read_text("utf-8"))
