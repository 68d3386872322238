"""Options that several verbs share."""

from typing import Annotated, TypeAlias

from cyclopts import Parameter

From: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--from",
        help="Where the tools are: `package.module:catalog`, a Python file, or a folder of Python files "
        "with their metadata in `tools.yaml`. Without it, the tools of the reference CMS.",
    ),
]
Flag: TypeAlias = Annotated[bool, Parameter(negative=(), show_default=False)]
Json: TypeAlias = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="Write JSON.")]
