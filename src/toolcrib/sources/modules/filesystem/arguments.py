"""Arguments that several tools take: same word, same meaning, same limits."""

from typing import Annotated, Any, TypeAlias

from pydantic import Field

FilePath: TypeAlias = Annotated[str, Field(description="Path in the work folder, such as notes/today.md", min_length=1)]
FolderPath: TypeAlias = Annotated[str, Field(description="Folder to look in; the whole work folder when left out")]
Limit: TypeAlias = Annotated[int, Field(description="Most results", ge=1, le=1000)]
Row: TypeAlias = dict[str, Any]  # what a tool gives back, as JSON
