"""What the README tells people to type works as it stands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headatlas.atlas.style import save_figure
from headatlas.cli.app import app
from headatlas.cli.arguments import spread
from headatlas.corpora.sample import sample_text, sample_treebank
from headatlas.pruning.run import prune

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = [
    line.partition("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def workplace(tiny_folder, tmp_path_factory):
    """A folder with a text, and a tiny model under the name that the README uses."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(tiny_folder("bert"), folder / "bert-base-uncased")
    # The tiny model has 64 positions; the README's commands use the usual 128.
    from conftest import make_tiny

    make_tiny("bert", max_position_embeddings=128).save_pretrained(folder / "bert-base-uncased")
    shutil.copy(sample_text(), folder / "wiki.txt")
    shutil.copy(sample_treebank(), folder / "dev.conllu")
    with zipfile.ZipFile(folder / "Inspec.zip", "w") as inspec:
        inspec.writestr("1.abstr", "Graph kernels\nWe measure the similarity of molecules with graph kernels.")
        inspec.writestr("1.uncontr", "graph kernels; molecules")
    sentences = sample_treebank().read_text(encoding="utf-8").split("\n\n")
    (folder / "train.conllu").write_text("\n\n".join(sentences[:60]) + "\n\n", encoding="utf-8")
    return folder


def test_the_readme_has_commands():
    assert "make demo" in SHELL
    assert "make test" in SHELL
    assert any(line.startswith("headatlas survey") for line in SHELL)
    assert len(PYTHON) == 4


@pytest.fixture
def one_format(monkeypatch):
    """Pictures in one format: that there are more is tested with the figures, and drawing takes most of the time."""
    for module in ("headatlas.atlas.figures", "headatlas.atlas.comparison"):
        monkeypatch.setattr(
            f"{module}.save_figure", lambda figure, stem, formats: save_figure(figure, stem, formats[:1])
        )


@pytest.mark.weights
def test_the_shell_commands_run(workplace, monkeypatch, one_format):
    monkeypatch.chdir(workplace)
    for line in SHELL:
        if line.startswith("headatlas "):
            done = CliRunner().invoke(app, spread(shlex.split(line)[1:]))
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
    assert (workplace / "atlas" / "index.html").exists()


def test_make_has_the_targets_that_are_named():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in SHELL:
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.weights
@pytest.mark.parametrize("code", PYTHON)
def test_the_python_examples_run(workplace, code, tmp_path):
    for name in ("bert-base-uncased", "wiki.txt"):
        (tmp_path / name).symlink_to(workplace / name)
    if '"pruned"' in code:
        prune(str(workplace / "bert-base-uncased"), heads=["1-2"], out=tmp_path / "pruned", device="cpu")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
