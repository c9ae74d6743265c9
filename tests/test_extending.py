"""The page about studies of one's own is true: its files work, its code runs, its entry points name them."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import headatlas as ha
from headatlas import plugins
from headatlas.corpora.sample import sample_text
from headatlas.results.tables import TABLES
from headatlas.studies import STUDIES
from headatlas.testing import check_study

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NAMED = {match[1]: block for block in BLOCKS if (match := re.match(r"# (\w+\.py)\n", block))}
RUN = [block for block in BLOCKS if block not in NAMED.values()]


@pytest.fixture
def workplace(save_tiny, tmp_path, monkeypatch):
    """The present folder has the page's files, a text, and a tiny model under the name that the page uses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    save_tiny("bert", max_position_embeddings=128).rename("bert-base-uncased")
    Path("wiki.txt").write_text("\n\n".join(sample_text().read_text("utf-8").split("\n\n")[:8]), encoding="utf-8")
    for name, code in NAMED.items():
        Path(name).write_text(code, encoding="utf-8")
    yield
    monkeypatch.undo()
    plugins._find.cache_clear()
    STUDIES._loaded.pop("sinks", None)  # what was given as an object is known until the process ends
    TABLES.made.pop("sinks", None)
    for name in NAMED:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_the_page_has_files_and_code():
    assert set(NAMED) == {"sinks.py", "longest_look.py", "long_sinks.py", "tagged.py", "copying.py"}
    assert len(RUN) == 3


@pytest.mark.parametrize("code", RUN)
def test_the_code_runs(workplace, code):
    exec(compile(code, "extending.md", "exec"), {"__name__": "__main__"})
    if "survey" in code:
        atlas = ha.open_atlas("atlas-sinks")
        assert {"positions", "sinks", "behaviours"} <= set(atlas.tables)
        assert "on the first token" in Path("atlas-sinks", "index.html").read_text(encoding="utf-8")


def test_the_entry_points_are_those_of_the_files(workplace):
    (project,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    for entries in tomllib.loads(project)["project"]["entry-points"].values():
        for name, place in entries.items():
            module, _, attribute = place.partition(":")
            assert getattr(__import__(module), attribute).name == name


def test_the_task_runs(workplace):
    about = Path("headatlas_sinks-0.1.0.dist-info")
    about.mkdir()
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: headatlas-sinks\nVersion: 0.1.0\n", "utf-8")
    about.joinpath("entry_points.txt").write_text("[headatlas.tasks]\ncopying = copying:Copying\n", "utf-8")
    plugins._find.cache_clear()
    small = {"max_tokens": 32, "bootstrap": 20, "steps": 2, "random_orders": 1, "device": "cpu", "progress": False}
    results = ha.ablate("bert-base-uncased", task="copying", text="wiki.txt", examples=4, out="ablated", **small)
    assert set(results.tables["ablation"]["task"]) == {"copying"}
    assert results.manifest["plugins"] == {"headatlas-sinks": "0.1.0"}


def test_a_result_of_the_wrong_shape_is_described_as_the_page_says(workplace):
    import sinks

    class Wrong(sinks.Sinks):
        def segment_means(self, layer_map: ha.LayerMap) -> ha.LayerMap:
            return super().segment_means(layer_map)[..., 0]

    shape = r"returned shape \[1, 3\]\. It must return one value for each segment, head and column: \[1, 3, 1\]\."
    with pytest.raises(ha.HeadatlasError, match=f"segment_means of the study 'sinks' {shape}"):
        check_study(Wrong)
