"""A run that is killed or stopped resumes where it stopped and ends with the same tables."""

from __future__ import annotations

import os
import signal

import pandas as pd
import pytest

from headatlas.commands.ablate.options import ablate
from headatlas.commands.ablate.task_run import RemovalCurves
from headatlas.corpora.sample import sample_text
from headatlas.engine.run_folder import RunPart
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.models.replay import LayerReplay

OPTIONS = {"text": sample_text(), "examples": 8, "max_tokens": 48, "batch_tokens": 200, "bootstrap": 20, "steps": 2}
OPTIONS |= {"task": "masked-lm", "random_orders": 2, "device": "cpu", "progress": False}


class KilledError(Exception):
    """The power is gone."""


@pytest.fixture
def count(monkeypatch):
    """Names of the pieces that are made; the run ends in the given way at the one of the given number."""
    made, end = [], {}
    call = RunPart.compute_once

    def counted(part, name, make):
        def noted():
            made.append(name)
            if len(made) == end.get("at"):
                end["how"]()
            return make()

        return call(part, name, noted)

    monkeypatch.setattr(RunPart, "compute_once", counted)
    return made, end


def killed():
    raise KilledError


def stopped():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("part", "how", "error", "lost"),
    [
        ("importance", killed, KilledError, 1),
        ("without", stopped, SurveyInterruptedError, 0),
        ("without", killed, KilledError, 1),
        ("curve", killed, KilledError, 1),
    ],
)
def test_a_run_resumes_where_it_stopped(part, how, error, lost, count, tiny_folder, tmp_path):
    model, (made, end) = str(tiny_folder("bert")), count
    whole = ablate(model, out=tmp_path / "whole", **OPTIONS)
    total = list(made)
    assert len(set(total)) == len(total) > 15
    made.clear()
    end |= {"at": total.index(next(name for name in total if name.startswith(part))) + 2, "how": how}
    with pytest.raises(error):
        ablate(model, out=tmp_path / "again", **OPTIONS)
    finished = total[: end["at"] - lost]
    end.clear()
    made.clear()
    again = ablate(model, out=tmp_path / "again", **OPTIONS)
    assert made == total[len(finished) :], "only what was missing is made"
    for name in whole.tables:
        pd.testing.assert_frame_equal(whole.tables[name], again.tables[name])
    assert not (again.folder / "state").exists()


def test_how_passes_were_made_is_known_after_going_on(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(LayerReplay, "complete", False)
    monkeypatch.setattr(RemovalCurves, "add", lambda *_: killed())
    with pytest.raises(KilledError):
        ablate(str(tiny_folder("bert")), out=tmp_path, **OPTIONS)
    monkeypatch.undo()
    monkeypatch.setattr(LayerReplay, "complete", False)
    found = ablate(str(tiny_folder("bert")), out=tmp_path, **OPTIONS)
    assert found.manifest["corpora"]["masked-lm"]["passes"] == "its layers are not where they could be replayed"


def test_other_settings_do_not_go_on(count, tiny_folder, tmp_path):
    count[1].update(at=3, how=killed)
    with pytest.raises(KilledError):
        ablate(str(tiny_folder("bert")), out=tmp_path, **OPTIONS)
    with pytest.raises(AtlasError, match="seed 0 instead of 1"):
        ablate(str(tiny_folder("bert")), out=tmp_path, seed=1, **OPTIONS)
