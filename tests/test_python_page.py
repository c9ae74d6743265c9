"""The page about Python and the notebook are true: their code runs from top to bottom."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import headatlas as ha

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def after(save_tiny, tmp_path, monkeypatch):
    """What the code leaves behind, in the folder in which it ran."""
    save_tiny("bert", max_position_embeddings=128).rename(tmp_path / "bert-base-uncased")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for code in BLOCKS:
        exec(compile(code, "python.md", "exec"), names)
    yield names
    plt.close("all")


def test_the_page_does_what_it_says(after):
    assert after["seen"].maps.shape == (2, 4, *[len(after["seen"].tokens)] * 2)
    assert after["seen"].tokens == tuple(after["inputs"].tokens())
    assert after["network"].training
    assert all(parameter.requires_grad for parameter in after["network"].parameters())
    assert after["atlas"].manifest["corpora"]["text"]["files"][0]["file"] == "40 documents in memory"
    figure = after["figure"]
    assert figure.get_suptitle() == "Where heads look"
    assert tuple(figure.get_size_inches()) == (5, 2.5)
    assert Path("positions.pdf").exists()
    assert [axes.get_title(loc="left") for axes in after["both"].axes][:2] == ["", "How similar heads are"]
    assert {"mean attention", "layer", "previous token"} <= set(ha.figures.label_words(figure))
    assert {path.suffix for path in Path("atlas-mine", "figures").iterdir()} == {".pdf"}


def test_the_notebook_runs_and_stores_no_output(tmp_path, monkeypatch, load_embedded):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "first_hour.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    names = {"__name__": "__main__"}
    for cell in cells:
        exec(compile("".join(cell["source"]), "first_hour.ipynb", "exec"), names)
    best = names["previous"].nlargest(1, "value").iloc[0]
    assert (best["layer"], best["head"]) == (1, 3)
    assert best["low"] > names["control"].tables["positions"].query("offset == -1")["value"].max()
