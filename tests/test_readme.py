"""What the README and the guide tell people to type works as it stands, on small files and a tiny model."""

from __future__ import annotations

import re
import shlex
import zipfile
from itertools import chain, pairwise
from pathlib import Path

import pytest

from headatlas.commands.prune.options import prune
from headatlas.corpora.sample import sample_text, sample_treebank
from typed import typed

ROOT = Path(__file__).parents[1]
DOCUMENTS = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/guide.md", "docs/models.md")]


def lines_of(document: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", document, re.DOTALL)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]


SHELL = [line for document in DOCUMENTS for line in lines_of(document)]
PYTHON = [code for document in DOCUMENTS for code in re.findall(r"```python\n(.*?)```", document, re.DOTALL)]
MOST_TOKENS = 2000  # to fit a head to: how many there are changes how good it gets, not what the command does


def commands_of(document: str) -> list[str]:
    """The commands that end by themselves; `explore` serves until it is stopped, and has tests of its own."""
    return [line for line in lines_of(document) if re.match(r"headatlas (?!explore )", line)]


def folders_made(line: str) -> list[str]:
    words = shlex.split(line)
    return [folder for option, folder in pairwise(words) if option == "--out"]


def groups_of(lines: list[str]) -> list[list[str]]:
    """Commands with those whose results they use, so that each group runs alone, on any process."""
    groups: list[list[str]] = []
    for line in lines:
        words = set(shlex.split(line))
        used = [group for group in groups if words & set(chain.from_iterable(map(folders_made, group)))]
        joined = sorted(chain(*used, [line]), key=lines.index)
        groups = [group for group in groups if group not in used] + [joined]
    return groups


def marks_of(code: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.weights] if "embedded" in code else []


@pytest.fixture
def workplace(save_tiny, tmp_path, monkeypatch):
    """The present folder has small corpora, and a tiny model under the name that the README uses."""
    monkeypatch.chdir(tmp_path)
    save_tiny("bert", max_position_embeddings=128).rename("bert-base-uncased")  # as many as the README's commands use
    documents = sample_text().read_text(encoding="utf-8").split("\n\n")
    Path("wiki.txt").write_text("\n\n".join(documents[:16]), encoding="utf-8")
    sentences = sample_treebank().read_text(encoding="utf-8").split("\n\n")
    Path("dev.conllu").write_text("\n\n".join(sentences[:240]) + "\n\n", encoding="utf-8")
    Path("train.conllu").write_text("\n\n".join(sentences[:60]) + "\n\n", encoding="utf-8")
    with zipfile.ZipFile("Inspec.zip", "w") as inspec:
        inspec.writestr("1.abstr", "Graph kernels\nWe measure the similarity of molecules with graph kernels.")
        inspec.writestr("1.uncontr", "graph kernels; molecules")


def test_the_readme_has_commands():
    assert "make demo" in SHELL
    assert "make test" in SHELL
    assert all(any(line.startswith("headatlas survey") for line in lines_of(document)) for document in DOCUMENTS[:2])
    assert len(PYTHON) == 4


def test_groups_hold_what_belongs_together_and_every_command_once():
    lines = ["x --out a", "x --out b", "y a", "models", "z a b --out c", "w c", "x --out d"]
    assert groups_of(lines) == [["models"], [*lines[:3], *lines[4:6]], ["x --out d"]]
    for commands in map(commands_of, DOCUMENTS):
        assert sorted(chain.from_iterable(groups_of(commands))) == sorted(commands)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(lines, id=" ".join(shlex.split(lines[0])[1:]), marks=marks_of(" ".join(lines)))
        for document in DOCUMENTS
        for lines in groups_of(commands_of(document))
    ],
)
def test_the_shell_commands_run(workplace, one_format, lines):
    for line in lines:
        shorter = re.sub(r"(?<=--tokens )\d+", lambda number: str(min(int(number[0]), MOST_TOKENS)), line)
        done = typed(*shlex.split(shorter)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
        assert all(Path(place).exists() for place in folders_made(line)), line
        if line.startswith("headatlas survey") and "--shard" not in line:
            assert Path(*folders_made(line), "index.html").exists(), line


def test_make_has_the_targets_that_are_named():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in SHELL:
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("code", [pytest.param(code, marks=marks_of(code)) for code in PYTHON])
def test_the_python_examples_run(workplace, one_format, code):
    if '"pruned"' in code:
        prune("bert-base-uncased", heads=["1-2"], out="pruned", device="cpu")
    exec(compile(code, "document", "exec"), {"__name__": "__main__"})
