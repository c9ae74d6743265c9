"""The embedded models on the embedded sample: the whole way, with real weights (slow)."""

from __future__ import annotations

import pytest

import headatlas as ha
from typed import typed

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def demo(tmp_path_factory, one_format):
    folder = tmp_path_factory.mktemp("demo") / "atlas"
    done = typed("demo", "--out", str(folder))
    assert done.exit_code == 0, done.output
    return folder, done.stdout


def test_the_demo_ends_with_a_page(demo):
    folder, output = demo
    assert f"Open {folder / 'index.html'} in a browser.\nNext: headatlas explore {folder}" in output
    assert len(list((folder / "figures").glob("*.svg"))) == 9
    assert "Not run" not in output
    page = folder / "index.html"
    assert '"comparisons":[{"title":["Dependency relations' in page.read_text(encoding="utf-8")
    assert page.stat().st_size < 3_000_000


def test_heads_of_the_demo_know_some_syntax_and_coreference(demo):
    """As the paper finds: heads far above any offset for some relations, none for all, one for antecedents."""
    tables = ha.open_atlas(demo[0]).tables
    best = tables["dependency_best"].set_index("relation")
    lead = best["held_out"] - best["baseline_held_out"]
    assert lead[["obj", "case", "det", "xcomp"]].gt(0.15).all()
    assert best.loc["all", "accuracy"] < 0.5
    rules = tables["coreference_baselines"].query("mention_type == 'all'").set_index("baseline")["accuracy"]
    head = tables["coreference_best"].query("mention_type == 'all' and candidates == 'preceding'")["held_out"].item()
    assert rules["nearest"] + 0.1 < head
    assert rules["head_match"] + 0.1 < head


def test_attention_to_what_takes_no_part_has_small_gradients(demo):
    """The paper's no-op, which is [SEP] in BERT and [CLS] in this model."""
    tables = ha.open_atlas(demo[0]).tables
    attention = tables["token_kinds"].query("kind == 'cls'").groupby("layer")["value"].mean()
    gradients = tables["gradients"].pivot_table(index="layer", columns="kind", values="value")
    assert attention[3:6].gt(0.5).all()
    assert (gradients["cls"] / gradients["other"])[3:6].lt(0.15).all()


def test_real_heads_behave_as_the_paper_says(demo):
    """all-MiniLM-L6-v2 has a previous-token head (1-3), a next-token head (2-9) and broad first-layer heads."""
    tables = ha.open_atlas(demo[0]).tables
    positions = tables["positions"].set_index(["layer", "head", "offset"])["value"]
    assert positions[1, 3, -1] > 0.9
    assert positions[2, 9, 1] > 0.5
    broad = tables["max_attention"].query("value <= 0.1")
    assert len(broad) >= 5
    assert (broad["layer"] == 1).mean() > 0.5
    entropy = tables["entropy"]
    assert (entropy["value"] <= entropy["expected"]).all()
    shares = tables["token_kinds"].query("kind in ['cls', 'sep', 'period_comma', 'other']")
    assert (shares.groupby(["layer", "head"])["value"].sum() - 1).abs().max() < 1e-5


def test_the_control_has_none_of_it(tmp_path):
    """With random weights no head of the embedded model attends to a neighbour."""
    options = {"text": ha.sample_text(), "segments": 40, "progress": False}
    control = ha.survey("embedded", out=tmp_path / "control", random_weights="fresh", **options)
    assert control.tables["positions"]["value"].max() < 0.2
