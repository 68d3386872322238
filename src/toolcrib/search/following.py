"""What an index follows: a catalogue, as far as it needs to know one, or the part of it that some may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from toolcrib.tools.tool import Tool

Where: TypeAlias = Callable[[Tool], bool]


class Step(Protocol):
    """What a catalogue announces: first some tools go, then others come."""

    @property
    def added(self) -> Sequence[Tool]: ...

    @property
    def removed(self) -> Sequence[str]: ...


class Followed(Protocol):
    """A catalogue, as far as an index needs to know it."""

    def subscribe(self, listener: Callable[[Step], object], *, replay: bool = False) -> Callable[[], None]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """Some tools of a catalogue, followed as if they were all."""

    catalog: Followed
    where: Where

    def subscribe(self, listener: Callable[[Step], object], *, replay: bool = False) -> Callable[[], None]:
        def pass_on(step: Step) -> None:
            listener(_PartStep([tool for tool in step.added if self.where(tool)], step.removed))

        return self.catalog.subscribe(pass_on, replay=replay)


@dataclass(frozen=True, slots=True)
class _PartStep:
    added: Sequence[Tool]
    removed: Sequence[str]
