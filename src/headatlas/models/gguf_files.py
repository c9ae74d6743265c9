"""Reading a GGUF file once.

transformers reads the whole file for the tokenizer, again for the configuration and again for the weights, and makes
the table of tensor names anew for every module of the network. Within `reading_once` it gets what was read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
from transformers import modeling_gguf_pytorch_utils

from headatlas.progress import moved

_STRINGS = 1000  # of a vocabulary, between two reports


@contextmanager
def reading_once() -> Iterator[None]:
    """Within this context each GGUF file is read once, and the progress display moves on the way."""
    import gguf

    with (
        patch.object(gguf, "GGUFReader", cache(_reporting_reader(gguf.GGUFReader))),
        patch.object(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map)),
        patch.object(modeling_gguf_pytorch_utils, "tqdm", reporting),
    ):
        yield


def reporting(items: Any, *_: Any, **__: Any) -> Iterator[Any]:
    """Report each item to the progress display; stands in for tqdm."""
    share = 1 / max(len(items), 1)
    for item in items:
        yield item
        moved(share)


def _reporting_reader(reader_class: Any) -> Any:
    """A reader that reports, and reads from a plain array: slices of a memory map cost twice as much."""

    class Reader(reader_class):  # type: ignore[misc]
        _strings = 0

        @property
        def data(self) -> np.ndarray[Any, Any]:
            return self._data

        @data.setter
        def data(self, mapped: np.ndarray[Any, Any]) -> None:
            self._data = mapped.view(np.ndarray)

        def _get_str(self, offset: int) -> Any:
            self._strings += 1
            if self._strings % _STRINGS == 0:
                moved()
            return super()._get_str(offset)

    return Reader
