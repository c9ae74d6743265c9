"""How the page's scripts are written: where they lie, what they are called, how long lines are, and their types."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import playwright
import pytest

from headatlas.results.tables import TABLES
from headatlas.views.page.assemble import FOLDERS
from headatlas.views.page.content import ATLAS_VIEWS, COMPARISON_VIEWS

WEB = Path(__file__).parents[3] / "src" / "headatlas" / "views" / "page" / "web"
FILES = sorted(path for path in WEB.rglob("*") if path.is_file())
SCRIPTS = {path.relative_to(WEB).as_posix(): path.read_text(encoding="utf-8") for path in FILES if path.suffix == ".js"}
LONGEST_LINE = 120
MOST_LINES = 300


def test_scripts_lie_in_known_folders_and_have_names_in_kebab_case():
    assert {path.relative_to(WEB).parent.as_posix() for path in FILES} == {".", *FOLDERS}
    assert {path.suffix for path in FILES} == {".css", ".html", ".js", ".json", ".ts"}
    assert [path.name for path in FILES if not re.fullmatch(r"[a-z]+(-[a-z]+)*(\.d)?\.[a-z]+", path.name)] == []


def test_lines_and_scripts_are_short():
    lines = [(path.name, len(line)) for path in FILES for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if line[1] > LONGEST_LINE] == []
    assert {name for name, source in SCRIPTS.items() if source.count("\n") > MOST_LINES} == set()


@pytest.mark.parametrize(("folder", "forbidden"), [("data", r"\.\./"), ("pictures", r"\.\./views/")])
def test_data_knows_no_elements_and_pictures_know_no_views(folder, forbidden):
    imports = {name: re.findall(r'from "(.+)";', source) for name, source in SCRIPTS.items()}
    stray = [(name, path) for name, paths in imports.items() for path in paths if re.match(forbidden, path)]
    assert [pair for pair in stray if pair[0].startswith(f"{folder}/")] == []


def test_the_scripts_know_no_table_but_those_that_pictures_are_about():
    about = {"behaviours", "coreference", "coreference_baselines", "dependencies", "dependency_best", "head_map"}
    about |= {"behaviour_matches", "differences", "head_matches", "match_summary"}  # comparisons
    about |= {"layer_mix", "layer_summary", "layer_order", "layer_examples"}
    about |= {"token_kinds", "resting"}  # which share of the attention rests
    views = {*ATLAS_VIEWS, *COMPARISON_VIEWS}
    named = {name for source in SCRIPTS.values() for name in re.findall(r'["`/](\w+)(?=["`/])', source)}
    assert (named & TABLES.keys()) - views - about == set()


def test_only_data_knows_tables_by_name():
    names = "|".join(TABLES.keys() - {*ATLAS_VIEWS, *COMPARISON_VIEWS})
    outside = {name: source for name, source in SCRIPTS.items() if not name.startswith("data/")}
    assert {name for name, source in outside.items() if re.search(rf'["`]({names})(/[^"`]*)?["`]', source)} == set()
    assert {name for name, source in outside.items() if 'frames.get("' in source} == set()


def compiler() -> list[str]:
    """The command of the TypeScript compiler: what `make lint` downloads, or one that is installed."""
    script = Path(sys.prefix) / "typescript" / "node_modules" / "typescript" / "lib" / "tsc.js"
    node = Path(playwright.__file__).parent / "driver" / "node"
    if script.exists() and (node.exists() or shutil.which("node")):
        return [str(node) if node.exists() else "node", str(script)]
    if installed := shutil.which("tsc"):
        return [installed]
    pytest.skip("TypeScript is not installed: `make lint` installs it in .venv/typescript")


def test_the_types_of_the_scripts_are_right():
    command = [*compiler(), "--project", str(WEB / "jsconfig.json"), "--pretty", "false"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.stdout == ""
    assert checked.returncode == 0
