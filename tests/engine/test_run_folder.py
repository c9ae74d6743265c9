"""The life of a run: found again, refused, stopped, killed and resumed, damaged, sent."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import fsspec
import numpy as np
import pytest

from headatlas.engine.guards import HOLDER, LOCK
from headatlas.engine.run_folder import UNSAVED, RunFolder, read_manifest, write_manifest
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.manifest import FORMAT
from headatlas.studies.positions import Positions

SPAWN = get_context("spawn")
SETTINGS = {"seed": 0, "names": ("a", "b"), "shard": None}


@dataclass(frozen=True)
class Record:
    """What a part of a run found."""

    rows: list[dict[str, float]]


def forbidden():
    pytest.fail("it is made twice")


def squares(out: Path, pieces: int = 3, **settings) -> tuple[Path, bool]:
    """A whole run; whether there was anything to do."""
    with RunFolder(out, "layers") as run:
        if run.finished(SETTINGS | settings):
            return run.folder, False
        run.begin(model={"name": "tiny"})
        total = sum(
            run.compute_once(f"{number}", lambda n=number: {"x": np.array([n**2])})["x"] for number in range(pieces)
        )
        run.finish(summary={"total": int(total[0])}, tables={})
        return run.folder, True


def test_a_finished_run_is_found_again(tmp_path):
    out = tmp_path / "out"
    assert squares(out) == (out, True)
    manifest = read_manifest(out)
    assert squares(out) == (out, False)
    assert read_manifest(out) == manifest
    assert manifest["summary"] == {"total": 5}
    assert (manifest["format"], manifest["command"], manifest["complete"]) == (FORMAT, "layers", True)
    assert manifest["settings"] == {"seed": 0, "names": ["a", "b"], "shard": None}
    assert manifest["started"] <= manifest["finished"]
    assert manifest["versions"].keys() >= {"python", "headatlas", "torch", "pandas", "scipy"}
    assert not {LOCK, HOLDER} & {path.name for path in out.iterdir()}


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 1}, "seed 0 instead of 1"),
        ({"shard": "1/2"}, "shard none instead of 1/2"),
        ({"names": ["a"]}, "names with b"),
        ({"rank": 3}, "which did not have the setting rank"),
    ],
)
def test_other_settings_are_refused_in_words(tmp_path, other, words, complete):
    squares(tmp_path)
    write_manifest(tmp_path, read_manifest(tmp_path) | {"complete": complete})
    with pytest.raises(
        AtlasError, match=rf"holds other results than you asked for \(.*{words}.*Choose another --out folder"
    ):
        squares(tmp_path, **other)


def test_the_folder_of_another_command_is_refused_before_any_work(tmp_path):
    squares(tmp_path)
    with pytest.raises(AtlasError, match="holds the results of layers, not of probe"), RunFolder(tmp_path, "probe"):
        pytest.fail("it was entered")
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"format": "other", "command": "layers"}'])
def test_a_damaged_manifest_is_refused_before_any_work(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(AtlasError, match=r"manifest\.json"), RunFolder(tmp_path, "layers"):
        pytest.fail("it was entered")


def fail(out, begin: bool) -> None:
    """A run that ends with an error before or after it has begun."""
    with RunFolder(out, "layers") as run:
        run.finished(SETTINGS)
        if begin:
            run.begin()
        raise ValueError("broken")


def test_a_run_that_cannot_begin_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="broken"):
        fail(tmp_path / "a" / "b", begin=False)
    assert not (tmp_path / "a").exists()


def test_ctrl_c_stops_after_the_piece_which_is_kept(tmp_path):
    def stopped():
        signal.raise_signal(signal.SIGINT)
        return {"x": np.array([0])}

    def run_until_stopped():
        with RunFolder(tmp_path, "layers") as run:
            run.finished(SETTINGS)
            run.begin(model={"name": "tiny"})
            run.compute_once("0", stopped)
            pytest.fail("it went on")

    with pytest.raises(SurveyInterruptedError, match="the same command continues"):
        run_until_stopped()
    assert not read_manifest(tmp_path)["complete"]
    with RunFolder(tmp_path, "layers") as run:
        assert not run.finished(SETTINGS)
        run.begin()
        assert run.compute_once("0", forbidden)["x"] == 0


def test_before_a_run_begins_ctrl_c_ends_it_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt), RunFolder(tmp_path / "out", "layers"):
        signal.raise_signal(signal.SIGINT)
    assert not (tmp_path / "out").exists()


def hang_after(out: Path, pieces: int) -> None:
    """A process that saves some pieces, says so, and never ends."""
    with RunFolder(out, "layers") as run:
        run.finished(SETTINGS)
        run.begin(model={"name": "tiny"})
        for number in range(pieces):
            run.compute_once(f"{number}", lambda n=number: {"x": np.array([n**2])})
        (out / "ready").touch()
        time.sleep(600)


@pytest.fixture
def hanging(tmp_path):
    """A folder, and the process that writes into it."""
    out = tmp_path / "out"
    process = SPAWN.Process(target=hang_after, args=(out, 2))
    process.start()
    while not (out / "ready").exists():
        time.sleep(0.02)
        assert process.is_alive()
    yield out, process
    process.kill()
    process.join()


def test_two_processes_and_a_killed_one(hanging, monkeypatch):
    out, process = hanging
    with pytest.raises(AtlasError, match=rf"process {process.pid} \(headatlas layers"):
        squares(out)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    made, save = [], RunFolder.compute_once

    def noted(run, name, make):
        return save(run, name, lambda: (made.append(name), make())[1])

    monkeypatch.setattr(RunFolder, "compute_once", noted)
    assert squares(out) == (out, True)
    assert made == ["2"]
    assert read_manifest(out)["summary"] == {"total": 5}


def test_a_piece_is_made_once_and_parts_do_not_share_names(tmp_path):
    with RunFolder(tmp_path, "ablate") as run:
        numbers = np.arange(6.0).reshape(2, 3)
        assert run.part("a").compute_once("one", lambda: {"x": numbers})["x"] is numbers
        assert np.array_equal(run.part("a").compute_once("one", forbidden)["x"], numbers)
        assert list(run.compute_once("one", lambda: {"y": numbers.T})) == ["y"]
        assert np.array_equal(run.compute_once("one", forbidden)["y"], numbers.T)
        with pytest.raises(AtlasError, match=r"one\.safetensors: has no z\. Delete it"):
            run.compute_once("one", forbidden)["z"]
    assert UNSAVED.part("a").compute_once("one", lambda: {"x": numbers})["x"] is numbers


def test_a_record_is_made_once(tmp_path):
    with RunFolder(tmp_path, "probe") as run:
        assert run.record("job", Record) is None
        made = run.record_once("job", Record, lambda: Record([{"x": 0.1}]))
        assert run.record_once("job", Record, forbidden) == made == run.record("job", Record)


@pytest.mark.parametrize("name", ["one.safetensors", "one.json"])
@pytest.mark.parametrize("damage", [lambda content: content[:-5], lambda content: content.replace(b"7", b"8", 1)])
def test_what_has_changed_is_refused_with_a_remedy(tmp_path, name, damage):
    with RunFolder(tmp_path, "probe") as run:
        run.compute_once("one", lambda: {"x": np.frombuffer(b"77777777", np.float64)})
        run.record_once("one", Record, lambda: Record([{"x": 7.0}]))
        path = run.state / name
        before = path.read_bytes()
        path.write_bytes(damage(before))
        assert path.read_bytes() != before
        with pytest.raises(AtlasError, match=rf"{name}: cannot be read .*Delete it and run the same command again"):
            _ = run.compute_once("one", forbidden) if name.endswith("tensors") else run.record("one", Record)


def test_the_state_of_studies_belongs_to_the_settings(tmp_path):
    study = Positions(replicates=2)
    with RunFolder(tmp_path, "survey") as run:
        run.finished({"seed": 0})
        run.checkpoint("text").save({}, [0, 1])
        assert run.checkpoint("text").resume({}, 2) == ({0, 1}, {})
        run.finished({"seed": 1})
        with pytest.raises(AtlasError, match=r"the state of another run .*seed 0 instead of 1"):
            run.checkpoint("text").resume({"positions": study}, 2)


@pytest.mark.parametrize("keep", [True, False])
def test_what_was_saved_on_the_way_goes_if_nobody_needs_it(tmp_path, keep):
    with RunFolder(tmp_path, "ablate") as run:
        run.finished(SETTINGS)
        run.begin()
        run.compute_once("one", lambda: {"x": np.zeros(2)})
        run.finish(keep_state=keep, tables={})
    assert (tmp_path / "state").exists() == keep


def test_a_url_gets_the_finished_run_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))
    bucket, url = fsspec.filesystem("memory"), "memory://runs/layers"
    with pytest.raises(ValueError, match="broken"):
        fail(url, begin=True)
    assert not bucket.exists("/runs/layers")
    folder, _ = squares(url)
    assert str(folder).startswith(str(tmp_path / "cache"))
    assert json.loads(bucket.cat("/runs/layers/manifest.json"))["complete"]
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "another machine"))
    assert squares(url)[1] is False
