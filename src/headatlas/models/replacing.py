"""Functions of other packages, replaced for a while: in a model's file or class, and nowhere afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Place = tuple[Any, str]
"""A module or class, and the name of one of its functions."""


class _Replaced(NamedTuple):
    original: Callable[..., Any]
    instead: Callable[..., Any]
    contexts: int  # that use it, over all threads


_replaced: dict[Place, _Replaced] = {}
_lock = Lock()


@contextmanager
def replacing(
    places: Sequence[Place], wrap: Callable[[Callable[..., Any]], Callable[..., Any]], variable: ContextVar[T], value: T
) -> Iterator[None]:
    """Within this context the functions in some places are those that `wrap` makes of them, and a variable has a value.

    Other threads call the replacements too. The variable, which they ask, has this value in this context alone.

    Contexts may overlap, in one thread or in several, if they wrap a function alike. Then all call the same
    replacement, and the last one puts the original back, unless somebody else has changed it meanwhile.
    """
    with _lock:
        for owner, name in places:
            entry = _replaced.get((owner, name))
            if entry is None:
                original = vars(owner)[name]
                entry = _Replaced(original, wrap(original), 0)
                setattr(owner, name, entry.instead)
            _replaced[owner, name] = entry._replace(contexts=entry.contexts + 1)
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
        with _lock:
            for owner, name in places:
                entry = _replaced.pop((owner, name))
                if entry.contexts > 1:
                    _replaced[owner, name] = entry._replace(contexts=entry.contexts - 1)
                elif vars(owner).get(name) is entry.instead:
                    setattr(owner, name, entry.original)
