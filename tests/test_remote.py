"""Corpora and results at URLs: fetched and sent, whole or not at all, with clear words where that fails."""

from __future__ import annotations

import json

import fsspec
import pandas as pd
import pytest

import headatlas as ha
from headatlas.corpora.files import describe_files, find_files
from headatlas.errors import AtlasError, CorpusError, SettingError
from headatlas.remote import fetch_file, fetch_folder, is_url, local_folder, send, work_folder
from typed import typed


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    """A file system in memory, and a cache of its own."""
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


@pytest.mark.parametrize(
    ("place", "yes"),
    [
        ("s3://bucket/key", True),
        ("https://host/wiki.txt.gz", True),
        ("zip::s3://bucket/a.zip", True),
        ("wiki.txt", False),
        ("/data/wiki.txt", False),
        ("C:\\data\\wiki.txt", False),
        ("a:b/c", False),
    ],
)
def test_what_is_a_url(place, yes):
    assert is_url(place) is yes


def test_a_file_is_fetched_once_under_its_name(bucket):
    bucket.pipe("/texts/wiki.txt", b"One line.\n")
    (path,) = find_files("memory://texts/wiki.txt", "text")
    assert path.read_bytes() == b"One line.\n"
    assert path.name == "wiki.txt"
    bucket.rm("/texts/wiki.txt")
    assert fetch_file("memory://texts/wiki.txt") == path
    assert describe_files([path])[0]["file"] == "memory://texts/wiki.txt"


def test_files_of_the_same_name_stay_apart(bucket):
    for folder in ("a", "b"):
        bucket.pipe(f"/{folder}/same.txt", folder.encode())
    assert [fetch_file(f"memory://{folder}/same.txt").read_text() for folder in ("a", "b")] == ["a", "b"]


def test_what_cannot_be_fetched(bucket):
    with pytest.raises(CorpusError, match=r"memory://nowhere/no\.txt: cannot be fetched"):
        fetch_file("memory://nowhere/no.txt")
    with pytest.raises(CorpusError, match=r"nosuch://x/y: cannot be opened"):
        fetch_file("nosuch://x/y")
    with pytest.raises(AtlasError, match="nothing at this address"):
        fetch_folder("memory://nowhere/part1")


def test_a_file_system_that_is_not_installed(monkeypatch):
    def missing(_url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", missing)
    with pytest.raises(SettingError, match=r"needs a package .Install s3fs"):
        fetch_file("s3://bucket/key")


def test_the_manifest_is_sent_last_and_nothing_twice(bucket, tmp_path, monkeypatch):
    folder = tmp_path / "atlas"
    (folder / "tables").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "tables" / "a.csv").write_text("a")
    (folder / "tables" / "z.csv").write_text("z")
    sent = []
    put = type(bucket).put_file
    monkeypatch.setattr(
        type(bucket), "put_file", lambda self, here, there, **_: (sent.append(there), put(self, here, there))
    )
    send(folder, "memory://out/atlas")
    assert sent == ["/out/atlas/tables/a.csv", "/out/atlas/tables/z.csv", "/out/atlas/manifest.json"]
    (folder / "tables" / "a.csv").write_text("another")
    send(folder, "memory://out/atlas")
    assert sent[3:] == ["/out/atlas/tables/a.csv"]
    assert bucket.cat("/out/atlas/tables/a.csv") == b"another"
    send(folder, folder)
    assert len(sent) == 4


def test_what_cannot_be_sent_says_where_it_is(bucket, tmp_path, monkeypatch):
    (tmp_path / "manifest.json").write_text("{}")

    def refuse(*_arguments, **_options):
        raise PermissionError("not yours")

    monkeypatch.setattr(type(bucket), "put_file", refuse)
    with pytest.raises(AtlasError, match=r"cannot be written .not yours.*run the same command again"):
        send(tmp_path, "memory://out/atlas")


def test_a_folder_that_names_files_outside_of_itself(bucket, tmp_path, monkeypatch):
    bucket.pipe("/out/atlas/manifest.json", b"{}")
    monkeypatch.setattr(type(bucket), "find", lambda *_: ["/out/atlas/../../../escaped.txt"])
    with pytest.raises(AtlasError, match=r"outside of its folder .*escaped\.txt"):
        work_folder("memory://out/atlas")
    assert not list(tmp_path.rglob("escaped.txt"))


@pytest.mark.parametrize("content", ["{", "[1]", "7", "[" * 5000])
def test_a_damaged_record_of_what_was_sent(bucket, tmp_path, content):
    (tmp_path / ".sent.json").write_text(content)
    with pytest.raises(AtlasError, match=r"\.sent\.json: cannot be read .*Delete it"):
        send(tmp_path, "memory://out/atlas")


def test_where_results_are_made(bucket, tmp_path):
    assert local_folder(tmp_path) == tmp_path
    one, other = work_folder("memory://out/one"), work_folder("memory://out/other")
    assert one != other
    assert one == local_folder("memory://out/one")
    assert str(one).startswith(str(tmp_path / "cache"))


@pytest.fixture
def survey(bucket, tiny_folder):
    bucket.pipe("/in/text.txt", ha.sample_text().read_bytes())

    def run(out, **options):
        common = {"text": "memory://in/text.txt", "segments": 6, "max_tokens": 32, "bootstrap": 10, "examples": 2}
        return ha.survey(str(tiny_folder("bert")), out=out, device="cpu", progress=False, **common | options)

    return run


def test_a_survey_from_url_to_url(survey, bucket, tmp_path):
    here = survey(tmp_path / "here")
    there = survey("memory://out/atlas")
    assert there.manifest["corpora"]["text"]["files"][0]["file"] == "memory://in/text.txt"
    for name in here.tables:
        pd.testing.assert_frame_equal(here.tables[name], there.tables[name])
        pd.testing.assert_frame_equal(pd.read_parquet(f"memory://out/atlas/tables/{name}.parquet"), here.tables[name])
    assert json.loads(bucket.cat("/out/atlas/manifest.json"))["complete"]


def test_another_machine_finds_what_was_sent(survey, bucket, tmp_path, monkeypatch):
    finished = survey("memory://out/atlas").manifest["finished"]
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "another"))
    assert survey("memory://out/atlas").manifest["finished"] == finished
    with pytest.raises(AtlasError, match="holds other results"):
        survey("memory://out/atlas", seed=1)


def test_shards_at_urls(survey, tmp_path):
    whole = survey(tmp_path / "whole")
    urls = [f"memory://out/part{number}" for number in (1, 2)]
    for number, url in enumerate(urls, 1):
        survey(url, shard=f"{number}/2")
    ran = typed("merge", *urls, "--out", "memory://out/merged")
    assert ran.exit_code == 0, ran.output
    assert "Sent to: memory://out/merged" in ran.output
    found = pd.read_parquet("memory://out/merged/tables/positions.parquet")
    pd.testing.assert_frame_equal(found, whole.tables["positions"], rtol=1e-9)
    assert fsspec.filesystem("memory").exists("/out/merged/index.html")
