"""The two stacks of an encoder-decoder are told apart wherever the model is named."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.results.naming import layers_and_heads
from headatlas.views.page import page_html
from headatlas.views.words.comparison import names_of
from typed import typed


def run(*arguments):
    shown = typed(*arguments, "--device", "cpu", "--no-figures")
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.fixture(scope="module")
def surveys(tiny_folder, tmp_path_factory):
    """What was said on the screen and the atlas, by stack."""
    folder = tmp_path_factory.mktemp("stacks")
    options = ("--text", ha.sample_text(), "--segments", 4, "--max-tokens", 32, "--bootstrap", 10)
    return {
        stack: (
            run("survey", tiny_folder("t5"), *options, "--attention", stack, "--out", folder / stack),
            ha.open_atlas(folder / stack),
        )
        for stack in ("encoder", "decoder")
    }


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_report_the_page_and_a_notebook_name_it(surveys, stack):
    shown, atlas = surveys[stack]
    name = f"{atlas.manifest['model']['name']} ({stack})"
    assert f"{name}: {layers_and_heads(atlas.manifest['model'])}, on" in shown
    assert name in atlas._repr_html_()
    assert f"({stack})</title>" in page_html(atlas)


def test_a_comparison_of_the_two_names_both(surveys, tmp_path):
    shown = run("compare", *(atlas.folder for _, atlas in surveys.values()), "--out", tmp_path / "both")
    comparison = ha.open_comparison(tmp_path / "both")
    a, b = names_of(comparison.manifest)
    assert a.endswith(" (encoder)")
    assert b.endswith(" (decoder)")
    assert f"A: {a}, " in shown
    assert f"B: {b}, " in shown
    assert f"A is {a}, 8 heads in 2 layers; B is {b}, " in page_html(comparison)


def test_a_model_with_one_stack_is_named_as_ever(tiny_folder, tmp_path):
    options = ("--text", ha.sample_text(), "--segments", 2, "--max-tokens", 32, "--bootstrap", 10)
    shown = run("survey", tiny_folder("gpt2"), *options, "--out", tmp_path / "a")
    assert f"{tiny_folder('gpt2')}: 2 layers, 8 heads, on" in shown
