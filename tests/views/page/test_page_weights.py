"""The page's view of a text shaded by the attention it receives, in a real browser."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from headatlas.views.page import write_page
from tests.views.chromium import Tab
from tests.views.synthetic_atlas import WORDS, synthetic_atlas

KEY = (False, False, True, False, False, True, True, False)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    made = synthetic_atlas(tmp_path_factory.mktemp("weights"), [2, 2], examples=1)
    made.examples[0] = replace(made.examples[0], corpus="keyphrases", key=KEY)
    heads = pd.DataFrame([(layer, head) for layer in (1, 2) for head in (1, 2)], columns=["layer", "head"])
    measures = {"average_precision": 0.4, "first_half": 0.4, "second_half": 0.4, "key_share": 0.2}
    made.tables["keyphrase_heads"] = heads.assign(pooling="mean", rows="all", **measures)
    return made


@pytest.fixture(scope="module")
def page(atlas, browser):
    tab = Tab(browser).go(f"{write_page(atlas).as_uri()}#view=weights&head=1-2")
    yield tab.page
    tab.check()


def column_means(example, layer, head):
    """What each word receives, in per cent."""
    columns = example.maps[layer, head].mean(0)
    return [
        100 * sum(columns[token] for token, owner in enumerate(example.word_of) if owner == word)
        for word in range(len(example.words))
    ]


def test_words_are_shown_with_what_they_receive(page, atlas):
    groups = page.locator("[data-word]")
    assert groups.all_text_contents() == list(WORDS)
    means = column_means(atlas.examples[0], 0, 1)
    for place in (0, 1, 6):
        groups.nth(place).hover()
        shown = float(page.inner_text(".tip").split("receives ")[1].split(" %")[0])
        assert shown == pytest.approx(means[place], abs=0.25)


def test_key_words_are_underlined_and_summed_up(page, atlas):
    assert page.locator("[data-word] path").count() == sum(KEY)
    means = column_means(atlas.examples[0], 0, 1)
    own = sum(mean for mean, key in zip(means, KEY, strict=True) if key) / sum(KEY)
    said = page.locator(".verdict").first.inner_text()
    assert float(said.split("receives ")[1].split(" %")[0]) == pytest.approx(own, abs=0.25)


def test_the_largest_weight_can_be_shown_in_place_of_the_mean(page, atlas):
    page.get_by_role("button", name="Largest").click()
    largest = 100 * atlas.examples[0].maps[0, 1][:, 1].max()
    page.locator("[data-word]").first.hover()
    shown = float(page.inner_text(".tip").split("receives ")[1].split(" %")[0])
    assert shown == pytest.approx(largest, abs=0.25)
