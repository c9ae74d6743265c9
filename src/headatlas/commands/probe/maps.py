"""The maps that probes read: of stores that are given, or extracted beside the results; and those of the control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.extract.options import extract
from headatlas.commands.probe.sources import Pair, open_pair
from headatlas.corpora.files import PARTS
from headatlas.errors import SettingError
from headatlas.models.loading import load_model, open_model
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.store.reading import Store

_DRAWN_BY = ("sentences", "seed", "max_tokens", "format")


@dataclass(frozen=True)
class MapSource:
    """A model with two treebanks, or two stores; `folder` is where extracted maps go."""

    model: str | Model | None
    files: Mapping[str, Sequence[Path]]
    stores: Mapping[str, str | Path]
    folder: Path
    loading: Mapping[str, Any]  # options of `load_model`
    stack: Stack | None
    batch_tokens: int
    progress: bool

    def check(self, control: bool) -> None:
        """That there are two treebanks with a model, or two stores."""
        if len(self.stores) == 1:
            raise SettingError("Give both --maps-train and --maps-eval, or neither.")
        if not self.stores and self.model is None:
            raise SettingError("There is no MODEL to probe. Name one, or give maps: --maps-train DIR --maps-eval DIR.")
        if not self.stores or control:
            for part, option in (("train", "--treebank"), ("eval", "--eval")):
                if part not in self.files:
                    raise SettingError(f"No treebank is given to {part} on. Name one with {option} FILE.")
        if self.stores and self.model is not None and not control:
            raise SettingError("MODEL and --maps-train exclude each other, but for --control. Leave one of them out.")
        if control and not isinstance(self.model, str):
            raise SettingError("--control loads the model by its name, with random weights. Give MODEL by its name.")

    def pretrained(self, states: bool, drawn: Mapping[str, Mapping[str, Any]]) -> Pair:
        """The maps to probe. drawn: for each part, how its sentences are read and drawn, where they are extracted."""
        if self.stores:
            return open_pair(self.stores, self.files)
        if self.model is None:
            raise SettingError("There is no MODEL to probe.")
        loaded = open_model(self.model, **self.loading)
        return Pair(*(self._extracted(loaded, part, part, states, drawn[part]) for part in PARTS))

    def control(self, pair: Pair) -> Pair:
        """The maps of the same network with random weights on the very sentences of `pair`, part by part."""
        loaded = load_model(str(self.model), random_weights=True, **self.loading)
        found = []
        for part in PARTS:
            settings = getattr(pair, part).index.settings
            drawn = {name: settings[name] for name in _DRAWN_BY}
            store = self._extracted(loaded, part, f"{part}-random", False, drawn)
            if _sentences(store) != _sentences(getattr(pair, part)):
                raise SettingError(
                    f"{store.folder}: the control reads other sentences than {getattr(pair, part).folder}, so the two "
                    "could not be compared. Is MODEL the model that these maps come from?"
                )
            found.append(store)
        return Pair(*found)

    def _extracted(self, model: Model, part: str, name: str, states: bool, drawn: Mapping[str, Any]) -> Store:
        return extract(
            model,
            treebank=self.files[part],
            out=self.folder / "maps" / name,
            hidden_states=states,
            batch_tokens=self.batch_tokens,
            attention=self.stack,
            progress=self.progress,
            **drawn,
        )


def _sentences(store: Store) -> list[tuple[str, tuple[str, ...] | None]]:
    return [(example.id, example.words) for example in store.examples]
