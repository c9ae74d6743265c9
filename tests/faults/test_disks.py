"""A disk that is full at some write, or a folder that nobody may write to: an error with a remedy, and nothing lost.

Every command is stopped at its first write, at one in the middle and at its last, and run again in the same folder: it
must end with the files and tables of an undisturbed run.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import headatlas as ha
from headatlas.errors import AtlasError
from tests.treebank_parts import write_parts

REMEDIES = {errno.ENOSPC: "disk is full.*same command again", errno.EROFS: "folder you may write to"}
USUAL = {"device": "cpu", "progress": False}
SMALL = USUAL | {"text": ha.sample_text(), "max_tokens": 24}
SURVEY = SMALL | {"segments": 3, "bootstrap": 5, "examples": 1}
ABLATE = SMALL | {"task": "masked-lm", "examples": 4, "bootstrap": 5, "steps": 1, "random_orders": 1}
PROBE = USUAL | {"max_tokens": 60, "probes": ["right_branching", "left_branching"], "bootstrap": 5}


@pytest.fixture(scope="module")
def commands(tiny_folder, tmp_path_factory) -> dict[str, Callable[[Path], object]]:
    """What writes a folder, by name."""
    model, folder = str(tiny_folder("bert")), tmp_path_factory.mktemp("inputs")
    write_parts(folder, 80, 24)
    probed = {"treebank": folder / "train.conllu", "eval": folder / "dev.conllu", "vectors": folder / "vectors.txt"}
    ha.survey(model, out=folder / "shard", shard="1/1", **SURVEY)
    return {
        "extract": lambda out: ha.extract(model, out=out, segments=3, **SMALL),
        "survey": lambda out: ha.survey(model, out=out, **SURVEY),
        "merge": lambda out: ha.merge([folder / "shard"], out=out),
        "ablate": lambda out: ha.ablate(model, out=out, **ABLATE),
        "probe": lambda out: ha.probe(model, out=out, **PROBE, **probed),
    }


@pytest.fixture
def writes(monkeypatch) -> dict[str, int]:
    """Counts writes, and refuses the one of the number `refused` with the error `number`."""
    state = {"count": 0, "refused": 0, "number": errno.ENOSPC}
    whole = os.fsync

    def counted(handle: int) -> None:
        state["count"] += 1
        if state["count"] == state["refused"]:
            raise OSError(state["number"], os.strerror(state["number"]))
        whole(handle)

    monkeypatch.setattr(os, "fsync", counted)
    return state


def equal(left: Path, right: Path) -> None:
    """The same files, and the same numbers in every table."""
    names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder in (left, right)]
    assert names[0] == names[1]
    for path in left.rglob("*.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(right / path.relative_to(left)))


@pytest.mark.parametrize("name", ["extract", "survey", "merge", "ablate", "probe"])
def test_a_write_that_fails(commands, writes, tmp_path, name):
    run = commands[name]
    run(tmp_path / "undisturbed")
    last = writes["count"]
    for refusals in ({1: errno.EROFS, last // 2: errno.ENOSPC}, {last: errno.ENOSPC}):
        out = tmp_path / f"refused {min(refusals)}"
        for refused, number in refusals.items():
            writes |= {"count": 0, "refused": refused, "number": number}
            with pytest.raises(AtlasError, match=REMEDIES[number]):
                run(out)
            assert not list(tmp_path.rglob("*.tmp"))
        writes["refused"] = 0
        run(out)
        equal(tmp_path / "undisturbed", out)
