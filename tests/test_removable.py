"""The proof that a feature can be one folder: without `commands/keyphrases`, everything else works as before."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headatlas
from headatlas.corpora.sample import sample_text, sample_treebank
from typed import typed

SOURCE = Path(__file__).parents[1] / "src" / "headatlas"
FOLDER = Path("commands", "keyphrases")
STUB, OPTIONS = Path("__init__.pyi"), Path("commands", "shared", "corpora.py")  # for type checkers
HELP = (["--help"], ["survey", "--help"], ["ablate", "--help"], ["layers", "--help"], ["table", "--help"])

USE_ALL = """
import importlib, pkgutil, sys
import headatlas as ha
imported = []
for module in pkgutil.walk_packages(ha.__path__, "headatlas."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # an optional package is not installed
        assert error.name and not error.name.startswith("headatlas"), (module.name, error)
    imported.append(module.name)
print(*imported)
model, text, treebank, out = sys.argv[1:]
quick = {"max_tokens": 48, "bootstrap": 20, "device": "cpu", "progress": False}
corpora = {"text": text, "treebank": treebank, "coreference": treebank}
atlas = ha.survey(model, **corpora, segments=4, least_count=20, examples=3, out=f"{out}/atlas", **quick)
print(*atlas.tables)
print(ha.write_page(atlas).stat().st_size, *(path.name for path in ha.write_figures(atlas, formats=["svg"])))
ablation = ha.ablate(model, task="masked-lm", text=text, heads="1-1", examples=4, out=f"{out}/ablation", **quick)
print(len(ablation.tables["ablation"]), ablation.manifest["plugins"])
comparison = ha.compare(atlas.folder, atlas.folder, out=f"{out}/comparison", progress=False)
print(float(comparison.tables["differences"]["difference"].abs().max()))
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """A copy of the package without the folder."""
    copy = tmp_path_factory.mktemp("without") / "headatlas"
    shutil.copytree(SOURCE, copy)
    shutil.rmtree(copy / FOLDER)
    return copy


def run(package: Path, code: str, *words: object) -> list[str]:
    """Run code with another copy of the package, and return the lines that it prints."""
    code = (
        f"import headatlas\nassert headatlas.__file__ == {str(package / '__init__.py')!r}, headatlas.__file__\n{code}"
    )
    environment = os.environ | {"PYTHONPATH": str(package.parent), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, env=environment, cwd=package.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_nothing_outside_the_folder_names_it():
    named = set()
    for path in SOURCE.rglob("*"):
        place = path.relative_to(SOURCE)
        if path.suffix in {".py", ".pyi", ".js", ".ts", ".html", ".css"} and not place.is_relative_to(FOLDER):
            named |= {place} if "keyphrase" in path.read_text(encoding="utf-8").lower() else set()
    assert named == {STUB, OPTIONS}


def test_what_type_checkers_see_is_not_run():
    tree = ast.parse((SOURCE / OPTIONS).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    assert "keyphrase" not in ast.unparse(tree)


def test_the_facade_does_not_offer_what_the_stub_names(without):
    assert "keyphrases" in dir(headatlas)
    assert run(without, "import headatlas\nprint('keyphrases' in dir(headatlas), 'survey' in dir(headatlas))") == [
        "False True"
    ]


def test_help_knows_no_keyphrases(without):
    words = "\n".join(
        f"try:\n    main({line})\nexcept SystemExit as end:\n    assert not end.code, end.code" for line in HELP
    )
    printed = "\n".join(run(without, f"from headatlas.cli.app import main\n{words}"))
    assert "headatlas survey" in printed
    assert "keyphrase" not in printed.lower()
    for line in HELP[:-1]:
        assert "keyphrases" in typed(*line).stdout, "with the folder they are listed"


def test_every_module_can_be_imported_and_all_else_works(without, tiny_folder, tmp_path):
    documents = sample_treebank().read_text(encoding="utf-8").split("# newdoc")
    treebank = tmp_path / "some.conllu"
    treebank.write_text("# newdoc".join(documents[:6]), encoding="utf-8")
    files = tiny_folder("bert"), sample_text(), treebank, tmp_path
    imported, tables, drawn, ablated, same = run(without, USE_ALL, *files)
    assert "headatlas.commands.ablate.run" in imported.split()
    assert "keyphrase" not in imported
    assert {"positions", "dependency_best", "coreference_best", "behaviours"} <= set(tables.split())
    assert "keyphrase_heads" not in tables
    assert int(drawn.split()[0]) > 100_000
    assert {"figure2_positions.svg", "figure4_entropy.svg"} <= set(drawn.split())
    assert ablated == "2 {}"
    assert float(same) == 0.0
