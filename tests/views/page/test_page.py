"""The page as a file: whole, small, without network, and hostile text stays text."""

import json
import re

import pytest

from headatlas.views.page import LARGEST_PAGE, page_html, write_page
from tests.views.synthetic_atlas import synthetic_atlas

HOSTILE = "\"'><script>alert(1)</script>&amp;<!--\u2028\u2029]]>"


def content_of(html):
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_what_the_atlas_has(tmp_path):
    atlas = synthetic_atlas(tmp_path, [3, 2])
    content = content_of(write_page(atlas).read_text(encoding="utf-8"))
    assert content["heads"] == [3, 2]
    assert content["tables"].keys() == atlas.tables.keys()
    assert [example["corpus"] for example in content["examples"]] == ["text", "treebank", "coreference"] * 2
    assert content["comparisons"][0]["cells"]
    assert content["notes"][1:] == ["Not run: gradients: no head", "Left out: 1,234 lines without a partner (text)"]


def test_hostile_text_cannot_leave_its_element(tmp_path):
    atlas = synthetic_atlas(tmp_path, [2], words=[HOSTILE] * 8, name=HOSTILE, **{"class": HOSTILE})
    atlas.tables[HOSTILE] = atlas.tables["positions"].assign(**{HOSTILE: HOSTILE})
    html = page_html(atlas)
    assert len(re.findall(r"<script", html)) == 2
    assert len(re.findall(r"</script", html)) == 2
    content = content_of(html)
    assert content["name"] == HOSTILE
    assert content["examples"][0]["words"] == [HOSTILE] * 8
    data = html.partition('id="content">')[2].partition("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(data)


def test_nothing_is_fetched_and_only_the_pages_own_script_may_run(tmp_path):
    html = page_html(synthetic_atlas(tmp_path, [2]))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert set(re.findall(r"https?://[^\s\"'`)]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", html)


def test_a_page_of_144_heads_is_small_and_has_most_examples(tmp_path):
    atlas = synthetic_atlas(tmp_path, [12] * 12, examples=60, words=["word"] * 22)
    html = page_html(atlas)
    content = content_of(html)
    assert 0.8 * LARGEST_PAGE < len(html.encode()) <= LARGEST_PAGE
    assert 10 < len(content["examples"]) < 60
    assert content["examples_kept"] == 60


@pytest.mark.parametrize("largest", [0, 400_000])
def test_however_small_one_example_stays(tmp_path, largest):
    atlas = synthetic_atlas(tmp_path, [2, 2])
    assert len(content_of(page_html(atlas, largest))["examples"]) == (1 if largest == 0 else 6)


def test_an_atlas_with_nothing_but_a_manifest_gives_a_page(tmp_path):
    atlas = synthetic_atlas(tmp_path, [2], examples=0)
    atlas.tables.clear()
    content = content_of(page_html(atlas))
    assert content["examples"] == []
    assert content["tables"] == {}
    assert content["comparisons"] == []


def test_the_same_atlas_gives_the_same_page(tmp_path):
    assert page_html(synthetic_atlas(tmp_path, [2])) == page_html(synthetic_atlas(tmp_path, [2]))
