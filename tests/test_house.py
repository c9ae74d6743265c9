"""The house rules that a machine can check: imports flow one way, files stay small, documents are true."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "headatlas"
LINE = "corpora -> encoding -> models -> statistics -> studies, probes, store"
LINE += " -> engine -> results -> views -> commands -> cli"
ORDER = [tuple(rooms.split(", ")) for rooms in LINE.split(" -> ")]
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The modules that a file imports, and for `from package import name` also package.name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def rooms_imported(path: Path) -> set[str]:
    """The rooms that a file imports from; `__init__` is the facade, which leads to all of them."""
    rooms = set()
    for name in imports(path):
        _, *rest = name.split(".")
        if name == "headatlas" or (name.startswith("headatlas.") and rest[0] not in PLACE):
            top = SOURCE / f"{rest[0]}.py" if rest else None
            rooms |= set() if top and top.exists() else {"__init__"}
        elif name.startswith("headatlas."):
            rooms.add(rest[0])
    return rooms


def test_there_are_twelve_rooms():
    assert sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()) == sorted(PLACE)


def test_imports_flow_from_left_to_right():
    against, graph = [], {}
    for path in MODULES:
        room = path.relative_to(SOURCE).parts[0]
        others = rooms_imported(path) - {room} if room in PLACE else set()
        graph.setdefault(room, set()).update(others)
        against += [
            f"{path.relative_to(SOURCE)} imports from {other}"
            for other in others
            if (other == "__init__" and room != "cli") or PLACE.get(other, 0) > PLACE[room]
        ]
    assert not against
    TopologicalSorter(graph).prepare()  # raises CycleError: rooms in one place of the line must not need each other


def test_the_files_that_serve_all_rooms_import_none_but_for_the_two_doors():
    """People come in by `import headatlas` and by `headatlas.testing`; nothing inside uses the second."""
    doors = {"__init__.py", "testing.py"}
    assert not {path.name for path in SOURCE.glob("*.py") if path.name not in doors and rooms_imported(path)}
    assert not [path for path in MODULES if "headatlas.testing" in imports(path)]


def test_commands_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for path in (SOURCE / "commands").rglob("*.py"):
        folder = path.relative_to(SOURCE / "commands").parts[0].removesuffix(".py")
        uses = {name.split(".")[2] for name in imports(path) if name.startswith("headatlas.commands.")}
        graph.setdefault(folder, set()).update(uses - {folder})
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_contributing_has_the_line_and_the_map_of_the_rooms():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"    {LINE}\n" in text
    docstrings = {
        room: ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8")))
        for room in PLACE
    }
    for room, docstring in docstrings.items():
        assert docstring is not None
        first = docstring.split("\n")[0]
        assert f"| `{room}/` | {first} |" in text


def test_files_are_small_and_say_what_they_are_for():
    large, silent = [], []
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        large += [str(path)] if len(text.splitlines()) > 400 else []
        if path in MODULES and not ast.get_docstring(ast.parse(text)):
            silent.append(str(path))
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


def test_the_page_about_tables_is_made_from_their_declarations():
    """If it is not: python -m scripts.document_tables."""
    from headatlas.results.tables import KnownTables
    from scripts.document_tables import DOCUMENT, document

    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == document()
    assert all(f"| `{name}` |" in text and f"### {name}\n" in text for name in KnownTables())


def test_the_readme_names_every_command():
    from headatlas.commands.shared.entry import list_entries

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in (folder.replace("_", "-") for folder in list_entries()):
        assert re.search(rf"(headatlas |make |, `){name}\b", readme), name


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 220
