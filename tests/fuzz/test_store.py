"""Maps that others made and stores of maps, gone bad: an error with file and remedy, or maps that a survey can use."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.extract.run import import_maps
from headatlas.commands.survey.examples import stored_examples
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.sources import StoreSource
from headatlas.errors import CorpusError, HeadatlasError
from headatlas.store.importing import read_maps
from headatlas.store.pickles import load_numbers
from headatlas.store.reading import open_store
from mutations import damaged_json, many, mutated, only_headatlas_errors

TOKENS = ["[CLS]", "Dogs", "##x", "[SEP]"]
WORDS = {"words": ["Dogs", "bark"], "heads": [2, 0], "relns": ["nsubj", "root"]}


def maps(rows: int = 4) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(rows), size=(2, 2, rows)).astype(np.float16)


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


PICKLES = [pickle.dumps([{"attns": maps(), "tokens": TOKENS}] * 2, protocol) for protocol in (0, 2, 4)]
PICKLES += [pickle.dumps([{"attns": maps(), **WORDS}], 2)]
NPZ = npz(attn=maps(), tokens=np.array(TOKENS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("maps")


@many
@given(mutated([*PICKLES, NPZ]))
def test_imports(folder, content):
    (folder / "maps").write_bytes(content)
    with only_headatlas_errors():
        found = read_maps([folder / "maps"])
        for one in found.examples:
            json.dumps([one.example.tokens, one.example.words], ensure_ascii=False).encode()
            assert np.isfinite(one.tensors("float32").maps).all()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02}" + b"K\x01" + b"2\x86" * 60 + b"K\x02s.",  # as the key of a dict
        b"\x80\x02cnumpy\ndtype\n" + b"K\x01" + b"2\x86" * 60 + b"\x85R.",  # as the name of a type
        b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".",  # lists within lists
        b"\x80\x04\x8b\xff\xff\xff\x7f1",  # a number of two billion bytes
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f1",  # bytes without end
    ],
)
def test_small_pickles_that_claim_or_grow_without_end(folder, content):
    path = folder / "bomb.pkl"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError):
            read_maps([path])
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_an_array_that_claims_more_than_the_memory(folder):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 20,) * 2})
    with zipfile.ZipFile(folder / "a.npz", "w") as archive:
        archive.writestr("attn.npy", header.getvalue())
        archive.writestr("tokens.npy", b"")
    with pytest.raises(CorpusError, match=r"a\.npz: cannot be read as \.npz"):
        read_maps([folder / "a.npz"])


def test_an_npz_that_unpacks_to_more_than_it_may(folder, monkeypatch):
    (folder / "a.npz").write_bytes(NPZ)
    monkeypatch.setattr("headatlas.store.importing.LARGEST_NPZ", 100)
    with pytest.raises(CorpusError, match=r"unpacks to .* Save one example a file"):
        read_maps([folder / "a.npz"])


@pytest.fixture(scope="module", params=["tokens", "words"])
def stored(request, tmp_path_factory):
    """A small store between tokens, and one between words."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "maps.pkl").write_bytes(PICKLES[1 if request.param == "tokens" else -1])
    import_maps(folder / "maps.pkl", out=folder / "store", progress=False)
    return folder / "store"


def use(folder: Path) -> None:
    """Everything a survey asks of a store before its sums."""
    store = open_store(folder)
    for example in store:
        assert np.asarray(example.maps).dtype.kind == "f"
    source = StoreSource(SurveyOptions(maps=folder, device="cpu", least_count=1, bootstrap=10, examples=2))
    for kind in {study.corpus for study in source.chosen.values()}:
        source.count_unknown(source.read(kind))
    stored_examples(store, 2)


@many
@given(st.data())
def test_the_index(stored, data):
    broken = stored.parent / "broken"
    shutil.copytree(stored, broken, dirs_exist_ok=True)
    content = (stored / "index.json").read_bytes()
    (broken / "index.json").write_bytes(data.draw(mutated([content]) | damaged_json(content)))
    with only_headatlas_errors():
        use(broken)


@many
@given(st.data())
def test_shards(stored, data):
    broken = stored.parent / "broken_shard"
    shutil.copytree(stored, broken, dirs_exist_ok=True)
    [shard] = broken.glob("*.safetensors")
    content = data.draw(mutated([(stored / shard.name).read_bytes()]))
    size = (stored / shard.name).stat().st_size
    shard.write_bytes(content[:size].ljust(size, b" "))
    with only_headatlas_errors():
        use(broken)


def test_an_undamaged_store_can_be_used(stored):
    use(stored)
    with pytest.raises(HeadatlasError):
        load_numbers(stored / "index.json")
