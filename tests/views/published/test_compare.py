"""The published row stands beside the right row of an atlas, and nowhere else."""

from __future__ import annotations

import pytest

from headatlas.views.published.compare import compare_coreference, compare_dependencies
from tests.views.published.surveyed_tables import coreference, coreference_baselines, coreference_best, dependency_best

STANFORD = ("all", "prep", "pobj", "dobj", "nn", "compound", "nummod", "aux", "cc", "obj", "parataxis")


def published_beside(view):
    return dict(zip(view.frame["relation"], view.frame["published_relation"].fillna(""), strict=True))


def test_ud_relations_get_their_published_likes_and_no_others():
    view = compare_dependencies(dependency_best(), "tiny on dev.conllu", universal=True)
    assert published_beside(view) == {
        "all": "all",
        "obj": "dobj",
        "nmod:poss": "poss",
        "aux:pass": "auxpass",
        "mark": "mark",
        "case": "",
        "nummod": "num",
        "cc": "",  # the same name, but UD attaches it elsewhere
    }


def test_stanford_and_clearnlp_relations_go_by_their_own_names_first():
    beside = published_beside(compare_dependencies(dependency_best(STANFORD), "tiny", universal=False))
    assert beside == {
        "all": "all",
        "prep": "prep",
        "pobj": "pobj",
        "dobj": "dobj",
        "nn": "nn",
        "compound": "nn",
        "nummod": "num",
        "aux": "aux",
        "cc": "cc",
        "obj": "dobj",
        "parataxis": "",
    }


def test_a_row_reads_as_in_the_paper():
    view = compare_dependencies(dependency_best(), "tiny on dev.conllu", universal=True)
    row = dict(zip(view.columns, view.cells[1], strict=True))
    shown = {(column.group, column.title): cell for column, cell in row.items()}
    assert shown["", "relation"] == "obj"
    assert shown["this atlas", "head"] == "3-2"
    assert shown["this atlas", "dir."] == "h->d"
    assert shown["this atlas", "acc."] == "51.0"
    assert shown["this atlas", "95 % interval"] == "[48.0, 52.0]"
    assert shown["this atlas", "held out"] == "49.0"
    assert shown["this atlas", "baseline"] == "40.0 (-2)"
    assert shown["published", "head"] == "8-10"
    assert shown["published", "dir."] == "d->h"
    assert shown["published", "acc."] == "86.8"
    assert shown["published", "baseline"] == "40.0 (-2)"


def test_values_for_machines_are_shares_on_both_sides():
    frame = compare_dependencies(dependency_best(), "tiny", universal=True).frame.set_index("relation")
    assert frame.loc["obj", ["accuracy", "published_accuracy"]].tolist() == [0.51, 0.868]
    assert frame.loc["obj", ["published_layer", "published_head", "published_offset"]].tolist() == [8, 10, -2]


def test_title_and_notes_say_what_the_figures_are():
    view = compare_dependencies(dependency_best(), "tiny on dev.conllu", universal=True)
    title, notes = "\n".join(view.title), "\n".join(view.notes)
    assert "This atlas: tiny on dev.conllu" in title
    assert "Published: BERT-base uncased on Penn Treebank WSJ dev" in title
    assert "another model and corpus" in notes
    assert "held out" in notes
    assert "94.1" in notes
    assert "only in the authors' notebook: num." in notes
    assert "mark (the infinitive's" in notes
    assert "xcomp" not in notes
    published = {cells[0]: cells[8] for cells in view.cells}
    assert (published["aux:pass"], published["mark"], published["obj"]) == ("auxpass*", "mark~", "dobj")


def test_notes_about_rows_that_are_not_there_are_left_out():
    view = compare_dependencies(dependency_best(("all", "obj", "prep")), "tiny", universal=False)
    assert not any(note.startswith(("*", "~", "Printed")) for note in view.notes)


def test_the_control_is_shown_where_it_was_run():
    best = dependency_best()
    assert "control" not in [column.title for column in compare_dependencies(best, "tiny", universal=True).columns]
    best.loc[2, "control"] = 0.333
    view = compare_dependencies(best, "tiny", universal=True)
    place = [column.title for column in view.columns].index("control")
    assert [cells[place] for cells in view.cells][:4] == ["", "", "33.3", ""]
    assert "random weights" in " ".join(view.notes)


def test_missing_values_are_empty_cells():
    best = dependency_best()
    best.loc[0, ["held_out", "low", "high"]] = float("nan")
    cells = compare_dependencies(best, "tiny", universal=True).cells
    assert cells[0][5:7] == ("", "")
    assert cells[5][8:] == ("", "", "", "", "")  # case


@pytest.fixture
def rows():
    view = compare_coreference(coreference(), coreference_best(), coreference_baselines(), "tiny")
    return {cells[:2]: cells[2:] for cells in view.cells}


def test_coreference_shows_the_best_head_of_all_and_of_each_type(rows):
    assert rows["all", "best head"] == ("2-2", "100", "42.0", "[37.0, 47.0]", "41.0", "80.0", "80.0", "5-4", "65")
    assert rows["proper", "best head"] == ("2-2", "100", "44.0", "[39.0, 49.0]", "", "82.0", "82.0", "5-4", "73")
    assert rows["proper", "best for type"] == ("1-2", "100", "82.0", "[77.0, 87.0]", "81.0", "82.0", "82.0", "", "")
    assert ("all", "best for type") not in rows


def test_coreference_shows_baselines_beside_the_published_ones(rows):
    assert rows["nominal", "four sieves"] == ("", "100", "30.0", "[20.0, 40.0]", "", "", "", "", "60")
    assert rows["all", "neural system*"] == ("", "", "", "", "", "", "", "", "83")
    assert [kind for kind, _ in rows][:5] == ["all"] * 5
    assert len(rows) == 5 + 3 * 5
