"""Differences between the settings of two runs, as text for error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.errors import AtlasError

LONGEST_SHOWN = 60  # characters of a value
_HASH = re.compile(r"\b[0-9a-f]{40,64}\b")


def differences(before: Any, now: Mapping[str, Any], version: str | None = None) -> list[str]:
    """Describe how the settings of an earlier run differ from those of this run, one phrase per difference.

    Args:
        before: The settings of the earlier run, as read from its file.
        now: The settings of this run, as JSON would return them.
        version: The version of headatlas that made the earlier run, which may have had other settings.

    Returns:
        Phrases such as "seed 0 instead of 5" or "other files for text"; none if the settings agree.
    """
    if not isinstance(before, Mapping):
        return ["its settings cannot be read"]
    changed = [key for key in sorted({*before} & {*now}) if before[key] != now[key]]
    phrases = [phrase for key in changed for phrase in _differing(_named(key), before[key], now[key])]
    maker = f"headatlas {version}" if version else "another version of headatlas"
    unknown = [_named(key) for key in sorted({*now} - {*before})]
    dropped = [_named(key) for key in sorted({*before} - {*now})]
    if unknown:
        phrases.append(f"made by {maker}, which did not have the setting {', '.join(unknown)}")
    if dropped:
        phrases.append(f"made by {maker}, which had the setting {', '.join(dropped)}")
    return phrases


def refuse_other(place: Path, holds: str, before: Any, now: Mapping[str, Any], version: str | None = None) -> None:
    """Refuse to resume a run with other settings.

    Args:
        place: The folder or file of the earlier run.
        holds: What it holds then, for example "other results", before "than you asked for".
        before: The settings of the earlier run, as read from its file.
        now: The settings of this run, as JSON would return them.
        version: The version of headatlas that made the earlier run.

    Raises:
        AtlasError: The settings differ.
    """
    if differing := differences(before, now, version):
        raise AtlasError(
            f"{place}: holds {holds} than you asked for ({'; '.join(differing)}). Choose another --out folder, or "
            "delete this one to start again."
        )


def _differing(name: str, before: Any, now: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict) and name == "corpora":
        keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        return [_corpus(_named(key), key in before, key in now) for key in keys]
    if _HASH.search(json.dumps([before, now], default=str)):  # which means nothing to a reader
        return [f"other {name}"]
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        return [phrase for key in keys for phrase in _differing(f"{name} {key}", before.get(key), now.get(key))]
    if _is_names(before) and _is_names(now):
        extra, missing = [item for item in before if item not in now], [item for item in now if item not in before]
        if extra or missing:
            parts = [f"with {', '.join(extra)}" if extra else "", f"without {', '.join(missing)}" if missing else ""]
            return [f"{name} {' and '.join(part for part in parts if part)}"]
    return [f"{name} {_shown(before)} instead of {_shown(now)}"]


def _corpus(name: str, in_before: bool, in_now: bool) -> str:
    if in_before and in_now:
        return f"other files for {name}"
    return f"with {name}" if in_before else f"without {name}"


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _named(key: str) -> str:
    return key.replace("_", " ")


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "on", False: "off"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if _is_names(value):
        text = ", ".join(value) or "none"
    else:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
