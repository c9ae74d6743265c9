"""What `extract` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headatlas.commands.extract.options import ExtractOptions
from headatlas.commands.shared.report import Item, Written, as_warning
from headatlas.results.naming import model_named
from headatlas.store.reading import Store
from headatlas.store.stored_model import stored_unknown
from headatlas.views.words.about import unknown_warning
from headatlas.wording import counted, counted_reason, megabytes


def report_extract(store: Store, options: ExtractOptions, _printing: object) -> Iterator[Item]:
    """Say what the folder of maps holds."""
    return store_report(store, checked=options.check is not None)


def store_report(store: Store, checked: bool = False) -> Iterator[Item]:
    """What a folder of maps holds and what was left out. checked: whether its files match their checksums."""
    index = store.index
    size = megabytes(sum(file.bytes for file in index.files))
    states = f", hidden states of {index.states} numbers" if index.states else ""
    maps = f"maps between {store.level} of {counted(len(store), 'example')}{states}"
    yield f"{model_named(store.model)}: {store.shape}, {maps}, {index.dtype}"
    if checked:
        yield "All files match their checksums."
    yield from map(as_warning, unknown_warning(stored_unknown(store), "the inputs", Path(store.model["name"]).name))
    for about in index.corpora.values():
        yield from (f"Left out: {counted_reason(reason, number)}" for reason, number in about["left_out"].items())
    files = counted(len(index.files), "file")
    survey = f"headatlas survey --maps {store.folder} --out DIR", "describe every head, without the model"
    yield Written(store.folder, f"{size} in {files}", next=(survey,), verb="Checked" if checked else "Wrote")
