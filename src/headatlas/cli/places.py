"""What commands print about where results are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headatlas.cli.screen import warn

if TYPE_CHECKING:
    from headatlas.store.reading import Store


def tell_shard(shard: str, out: str | Path) -> None:
    """Print what to do after one shard."""
    print(f"Shard {shard} is done: {out}. When all are: headatlas merge DIR... --out DIR")


def send_results(folder: Path, out: str | Path) -> None:
    """Send figures and pages after their tables if --out is a URL."""
    from headatlas.remote import is_url, send

    if is_url(out):
        send(folder, out)
        print(f"Sent to: {out}")


def tell_store(store: Store, checked: bool = False) -> None:
    """Print what a folder of maps holds and what was left out. checked: whether its files equal their checksums."""
    from headatlas.commands.survey.stored import stored_unknown
    from headatlas.results.naming import model_named
    from headatlas.views.words.about import unknown_warning
    from headatlas.wording import counted, megabytes

    index = store.index
    size = megabytes(sum(file.bytes for file in index.files))
    states = f", hidden states of {index.states} numbers" if index.states else ""
    what = f"maps between {store.level} of {counted(len(store), 'example')}{states}"
    where = f"{size} in {counted(len(index.files), 'file')}"
    print(f"{model_named(store.model)}: {store.shape}, {what}, {index.dtype}, {where}")
    if checked:
        print("Every file equals its checksum.")
    for warning in unknown_warning(stored_unknown(store), "the inputs", Path(store.model["name"]).name):
        warn(warning)
    for about in index.corpora.values():
        for reason, number in about["left_out"].items():
            print(f"Left out: {reason} {number:,}")
    print(f"Next:    headatlas survey --maps {store.folder} --out DIR")
    print(f"Folder:  {store.folder}")
