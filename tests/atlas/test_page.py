"""The page: whole, without network or script, and hostile text stays text."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headatlas.atlas.page import page_html, write_page

HOSTILE = '"><script>alert(1)</script>&amp;'


@dataclass
class Atlas:
    folder: Path
    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any] = field(default_factory=dict)
    example: None = None
    relation_examples: tuple[()] = ()


@pytest.fixture
def atlas(tmp_path):
    text = {"segments": 3, "tokens": 300, "segments_available": 5, "documents": 2}
    text |= {"files": [{"file": f"/data/{HOSTILE}"}], "left_out": {"last_line_alone": 1234}}
    manifest = {
        "model": {"name": HOSTILE, "class": HOSTILE, "heads": [2], "layers": 1},
        "corpora": {"text": text},
        "settings": {"seed": 0},
        "studies_skipped": {"gradients": HOSTILE},
    }
    table = pd.DataFrame(
        [(1, 1, HOSTILE, 0.25, 3), (1, 2, "sep", 0.5, 3)], columns=["layer", "head", "kind", "value", "count"]
    )
    return Atlas(tmp_path, {"gradients": table}, manifest)


def test_hostile_text_is_escaped_everywhere(atlas):
    html = page_html(atlas)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 5


def test_nothing_is_fetched(atlas):
    (atlas.folder / "figures").mkdir()
    (atlas.folder / "figures" / "figure1_heads.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    html = write_page(atlas).read_text(encoding="utf-8")
    assert re.findall(r'src="([^"]{0,25})', html) == ["data:image/svg+xml;base64"]
    assert "http" not in html
    assert 'alt="Heads at work' in html


def test_tables_and_what_was_left_out_are_shown(atlas):
    html = page_html(atlas)
    assert "gradients (2 rows)" in html
    assert "0.2500" in html
    assert "last_line_alone 1,234 (text)" in html


def test_a_long_table_is_cut_and_says_so(atlas):
    atlas.tables["gradients"] = pd.concat([atlas.tables["gradients"]] * 501, ignore_index=True)
    html = page_html(atlas)
    assert "gradients (1,002 rows)" in html
    assert "The first 1,000 rows; all are in tables/gradients.csv." in html
    assert html.count("<td>sep</td>") == 500
