"""A table by name: plain, compared with the paper, or an error that says how to get it."""

from __future__ import annotations

import pytest

from headatlas.errors import AtlasError
from headatlas.results.tables import TABLES
from headatlas.views.published.views import view_of
from tests.views.published.surveyed_tables import all_tables, write_atlas
from tests.views.synthetic_tables import positions


@pytest.fixture
def atlas(tmp_path):
    return write_atlas(tmp_path, all_tables())


def test_two_names_are_compared_and_raw_ones_are_not(atlas):
    compared = view_of(atlas, "dependencies")
    assert compared.title[1] == "This atlas: tiny on dev.conllu"
    assert "published_accuracy" in compared.frame
    raw = view_of(atlas, "dependencies", raw=True)
    assert list(raw.frame) == TABLES["dependencies"].names
    assert "published_accuracy" in view_of(atlas, "coreference").frame
    assert "candidates" in view_of(atlas, "coreference", raw=True).frame


def test_trees_of_a_parser_are_said_to_be_so(tmp_path):
    atlas = write_atlas(tmp_path, all_tables(), parsed_by="en_core_web_sm")
    assert view_of(atlas, "dependencies").title[1] == "This atlas: tiny on dev.conllu, trees by en_core_web_sm"


def test_every_other_table_is_shown_as_it_is(atlas):
    view = view_of(atlas, "dependency_best")
    assert view.title == (
        "dependency_best: Which head is best for each relation, held out, beside the best fixed offset?",
    )
    assert len(view.cells) == len(atlas.tables["dependency_best"])


def test_an_unknown_name_lists_those_there_are(tmp_path):
    atlas = write_atlas(tmp_path, {"positions": positions([2])})
    with pytest.raises(AtlasError, match=r"no table entropie. It has: positions\."):
        view_of(atlas, "entropie")


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    ("name", "option"),
    [("dependencies", "treebank"), ("coreference", "coreference"), ("coreference_best", "coreference")],
)
def test_what_was_not_surveyed_is_told_how_to_survey(tmp_path, name, option, raw):
    atlas = write_atlas(tmp_path, {"positions": positions([2])})
    with pytest.raises(AtlasError, match=f"headatlas survey tiny --{option} FILE --out DIR"):
        view_of(atlas, name, raw)
