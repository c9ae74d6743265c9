"""A comparison credits no model with its mask, judges nothing untested, and finds nothing where all is equal."""

from __future__ import annotations

import json
import shutil

import pytest

import headatlas as ha
from headatlas.views.page.content import comparison_content
from headatlas.views.words.comparison import comparison_findings

SENTENCES, POSITIONS = 80, 400


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """The beginning of the sample."""
    path = tmp_path_factory.mktemp("sample") / "trees.conllu"
    blocks = ha.sample_treebank().read_text(encoding="utf-8").split("\n\n")[:SENTENCES]
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def random_networks(save_tiny, survey, treebank):
    """Atlases of networks that have learned nothing: one that sees all words, one that sees no later ones."""
    options = {"text": None, "coreference": None, "treebank": treebank, "random_weights": "fresh"}
    options |= {"max_tokens": POSITIONS, "bootstrap": 300, "least_count": 20}
    return [survey(save_tiny(name, max_position_embeddings=POSITIONS), **options) for name in ("bert", "llama")]


def relations_of(comparison, column):
    table = comparison.tables["differences"]
    rows = table[(table["table"] == "dependency_best") & (table["column"] == column)]
    return rows[~rows["measure"].str.startswith("relation=all")]


@pytest.mark.parametrize("turned", [False, True])
def test_a_causal_model_is_not_credited_with_its_mask(random_networks, compare, turned):
    compared = compare(*(random_networks[::-1] if turned else random_networks))
    by_accuracy, by_lead = (relations_of(compared, column) for column in ("accuracy", "lead"))
    assert ((by_accuracy["low"] > 0) | (by_accuracy["high"] < 0)).sum() > 5  # what the mask alone does
    clear = int(((by_lead["low"] > 0) | (by_lead["high"] < 0)).sum())
    assert clear <= 1 + 0.05 * len(by_lead)
    assert by_lead["paired"].all()
    found = comparison_findings(compared)
    causal, other = (compared.manifest[end]["model"]["name"].rpartition("/")[2] for end in ("ab" if turned else "ba"))
    assert found[0].startswith(f"Words of {causal} with random weights see no later words, those of {other} with")
    sentence = next(one for one in found if one.startswith(f"Of {len(by_lead)} relations"))
    assert "leads the best fixed offset by more at" in sentence
    assert comparison_content(compared)["findings"][0] == found[0]


def test_models_that_see_the_same_words_are_compared_by_accuracy(atlas, other, compare):
    found = comparison_findings(compare(atlas, other))
    assert not any("later words" in sentence for sentence in found)
    assert any("is better at" in sentence for sentence in found)


def test_without_intervals_no_verdict_is_given(atlas, other, compare, tmp_path):
    """An atlas of another version has no replicates."""
    older = shutil.copytree(other.folder, tmp_path / "older")
    manifest = json.loads((older / "manifest.json").read_text(encoding="utf-8"))
    del manifest["settings"]["bootstrap"]
    (older / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    found = "\n".join(comparison_findings(compare(atlas, older)))
    assert "was not tested, since there are no intervals" in found
    assert "better at" not in found
    assert "95 %" not in found


def test_an_atlas_beside_itself(atlas, compare):
    found = comparison_findings(compare(atlas, atlas))
    assert "No head differs from the head in the same place: all distances are under 0.005 nats." in found
    assert not any("differ most" in sentence for sentence in found)


def test_a_single_sentence_has_nothing_to_resample(survey, tiny_folder, save_tiny, compare, corpora, tmp_path):
    one = tmp_path / "one.conllu"
    one.write_text(corpora["treebank"].read_text(encoding="utf-8").split("\n\n")[0] + "\n\n", encoding="utf-8")
    options = {"treebank": one, "text": None, "coreference": None, "least_count": 1}
    compared = compare(survey(tiny_folder("bert"), **options), survey(save_tiny("bert", seed=1), **options))
    assert compared.tables["differences"][["low", "high"]].isna().all(axis=None)
    assert "its treebank is a single sentence" in compared.manifest["without_intervals"]["a"]
    found = "\n".join(comparison_findings(compared))
    assert "was not tested" in found
    assert "nan" not in found
