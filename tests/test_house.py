"""The house rules that a machine can check: imports flow one way, files stay small, documents are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "headatlas"
ORDER = ["corpora", "encoding", "models", "statistics", "store", "studies", "probes", "engine", "fitting"]
ORDER += [
    "results",
    "surveying",
    "probing",
    "layering",
    "ablation",
    "merging",
    "pruning",
    "keyphrasing",
    "comparing",
    "published",
    "atlas",
    "reproducing",
    "exploring",
    "cli",
]
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def to_the_right(path: Path) -> tuple[str, ...]:
    """The folders that a module must not import from."""
    folder = path.relative_to(SOURCE).parts[0]
    return tuple(f"headatlas.{other}" for other in ORDER[ORDER.index(folder) + 1 :]) if folder in ORDER else ()


def test_imports_flow_from_left_to_right():
    against = {
        str(path.relative_to(SOURCE)): sorted(name for name in imports(path) if name.startswith(to_the_right(path)))
        for path in MODULES
    }
    assert not {path: names for path, names in against.items() if names}


def test_files_are_small_and_say_what_they_are_for():
    large, silent = [], []
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        large += [str(path)] if len(text.splitlines()) > 400 else []
        silent += [] if ast.get_docstring(ast.parse(text)) else [str(path)]
    assert (large, silent) == ([], [])


def test_nothing_unpickles():
    """But for one reader of the paper's released maps, which admits numbers, strings and their containers alone."""
    for path in MODULES:
        if path == SOURCE / "store" / "pickles.py":
            continue
        assert not {"pickle", "dill", "joblib", "cloudpickle", "shelve"} & imports(path), path


def test_the_changelog_has_an_unreleased_section():
    assert re.search(r"^## \[Unreleased\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_links_of_the_documents_lead_somewhere():
    for document in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_readme_names_every_table_and_command():
    from headatlas.cli.app import COMMANDS
    from headatlas.results.schema import TABLES

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in TABLES)
    assert all(f"headatlas {name}" in readme for name in COMMANDS if name != "demo")
