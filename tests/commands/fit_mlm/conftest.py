"""A tiny encoder without a head, a text that is easy to predict, and a quick way to fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headatlas.commands.fit_mlm.options import fit_mlm
from headatlas.commands.fit_mlm.run import Fit

SENTENCES = ("the old man saw a little dog .", "she sat by the river and ate .", "they have not been there at night .")


@pytest.fixture(scope="session")
def easy_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same three sentences again and again: 240 documents of one line."""
    path = tmp_path_factory.mktemp("text") / "easy.txt"
    path.write_text("\n\n".join(SENTENCES * 80), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def headless(save_tiny: Callable[..., Path]) -> Callable[[str], Path]:
    """The folder of a family's tiny network saved without its head."""
    return cache(lambda family: save_tiny(family, head=False))


@pytest.fixture
def fit(headless: Callable[[str], Path], easy_text: Path, tmp_path: Path) -> Callable[..., Fit]:
    """Fit a tiny BERT (or `model`) to the easy text, quickly."""

    def run(model: Path | str | None = None, **changes: Any) -> Fit:
        usual: dict[str, Any] = {
            "text": easy_text,
            "out": tmp_path / "fitted",
            "tokens": 1500,
            "max_tokens": 24,
            "batch_tokens": 120,
            "rank": 4,
            "alpha": 8,
            "device": "cpu",
            "progress": False,
        }
        return fit_mlm(str(model or headless("bert")), **usual | changes)

    return run
