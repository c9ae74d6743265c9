"""Reports in three ways: as text with what to do next, as bare paths, as one JSON object; and what Tab offers."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import headatlas
from headatlas.cli.app import make_app
from headatlas.commands.shared.entry import function_of, list_entries, load
from headatlas.commands.shared.options import flag_of, list_options
from headatlas.commands.shared.report import Findings, Written, as_record, next_lines, show, wrapped
from headatlas.models.embedded import EMBEDDED
from headatlas.results.rendering import render
from headatlas.studies.findings import Finding
from headatlas.views.published.views import list_tables, view_of
from headatlas.views.words.findings import all_findings
from tests.views.published.surveyed_tables import all_tables, write_atlas
from tests.views.synthetic_atlas import synthetic_atlas
from typed import typed

OF_OTHERS = {"--force-reinstall", "--no-deps", "--upgrade"}  # options of pip
FOUND = [
    Finding(f"Head 1-{head} finds it", head / 10, baselines={"chance": 0.05}, heads=((1, head),))
    for head in range(1, 8)
]


@pytest.fixture
def report(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    steps = ("headatlas explore a", "in a browser"), ("headatlas table a", "list the tables")
    written = Written(folder, "2 tables", folder / "index.html", {"entropy": 3}, next=steps)
    return ["tiny: 2 layers", "\x1b[33mNot run: gradients\x1b[0m", Findings([*FOUND, "A remark."], folder), written]


def test_text_has_the_leading_findings_and_ends_with_what_to_do_next(report, tmp_path):
    shown = "\n".join(show(report, "survey", quiet=False, as_json=False)).splitlines()
    found = [line for line in shown if line.startswith("  - ")]
    assert found == [f"  - Head 1-{head} finds it (chance 5.0 %)." for head in (7, 6, 5, 4, 3)]
    assert f"3 further findings, and the whole evidence: headatlas table {tmp_path / 'a'} findings" in shown
    assert shown[-2:] == [
        "Next: headatlas explore a    in a browser",
        "      headatlas table a      list the tables",
    ]


def test_quiet_prints_the_page_alone(report, tmp_path):
    assert list(show(report, "survey", quiet=True, as_json=False)) == [str(tmp_path / "a" / "index.html")]


def test_json_is_one_object_with_every_finding(report, tmp_path):
    (line,) = show(report, "survey", quiet=False, as_json=True)
    record = json.loads(line)
    assert (record["folder"], record["tables"]) == (str(tmp_path / "a"), {"entropy": 3})
    assert [found["text"] for found in record["findings"]] == [*map(str, FOUND), "A remark."]
    assert record["findings"][6]["heads"] == [[1, 7]]
    assert record["notes"] == ["tiny: 2 layers", "Not run: gradients"]
    assert record["next"] == ["headatlas explore a", "headatlas table a"]
    assert as_record([], "draw").keys() == record.keys()


def test_json_lists_what_is_embedded():
    rows = json.loads(typed("models", "--json").stdout)["rows"]
    assert [row["name"] for row in rows] == [*EMBEDDED]
    assert all(row["install"].startswith("pip install ") and isinstance(row["installed"], bool) for row in rows)


def test_a_number_stays_on_a_line_with_its_percent_sign(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    text = "It attends to the word by 1234 % of it."
    assert wrapped(text) == "It attends to the word by\n  1234 % of it."


def test_what_a_next_step_does_is_below_it_on_a_narrow_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert list(next_lines([("headatlas table a", "list its tables")])) == [
        "Next: headatlas table a\n          list its tables"
    ]


def test_a_table_without_a_name_lists_the_tables_and_a_missing_one_says_why(tmp_path):
    atlas = write_atlas(tmp_path / "atlas", all_tables())
    listed = typed("table", atlas.folder).stdout
    assert re.search(r"^dependency_best +\d+  Which head is best for each relation", listed, re.MULTILINE)
    assert listed.split()[-5:] == ["Next:", "headatlas", "table", str(atlas.folder), "NAME"]
    assert "this folder has no table findings" in typed("table", atlas.folder, "findings").output
    manifest = json.loads((atlas.folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["studies_skipped"] = {"gradients": "it has no head. Give another model."}
    (atlas.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "the study gradients was not run: it has no head." in typed("table", atlas.folder, "gradients").output
    assert "Did you mean dependency_best?" in typed("table", atlas.folder, "dependency_bst").output


def test_findings_are_printed_like_a_table(tmp_path):
    atlas = synthetic_atlas(tmp_path, [4, 4])
    view = view_of(atlas, "findings")
    assert [text for _, text in view.cells] == [str(found) for found in all_findings(atlas)]
    assert list_tables(atlas).frame["table"][0] == "findings"
    assert {"text", "value", "low", "high", "rivals", "heads"} <= set(view.frame)
    narrow = render(view, "terminal", 80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert set(" ".join(text for _, text in view.cells).split()) <= set(narrow.split())


def offered(*words):
    """What a shell offers for the last word."""
    shown = typed("__complete", *words).stdout.splitlines()
    return [line.split("\t")[0] for line in shown[shown.index("\x1fbegin") + 1 :]]


def test_tab_offers_models_folders_studies_tables_and_columns(tmp_path, monkeypatch, tiny_folder):
    monkeypatch.chdir(tmp_path)
    atlas = write_atlas(tmp_path / "atlas", all_tables())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text('{"tables": 3}', encoding="utf-8")
    assert {"embedded", "embedded-mlm", "atlas/", "broken/"} <= {*offered("survey", "")}
    model = str(tiny_folder("bert"))
    assert model in offered("survey", model[:-1])
    assert "entropy" in offered("survey", "x", "--studies", "positions", "")
    assert "masked-lm" in offered("ablate", "x", "--task", "")
    assert {"atlas", "broken"} <= {*offered("table", "")}
    assert {*offered("table", "atlas", "")} == {*atlas.tables, "findings"}
    assert "accuracy" in offered("table", "atlas", "dependency_best", "--sort", "")
    assert offered("table", "broken", "") == offered("table", "nowhere", "") == []


def test_every_option_that_a_message_names_exists():
    known = set(OF_OTHERS) | {"--help", "--tokens"}
    for folder, entry in list_entries().items():
        for option in [*list_options(function_of(folder).options), *list_options(load(entry.printing))]:
            known |= {flag_of(option.name), f"--no-{flag_of(option.name)[2:]}"}
    unknown = []
    for path in Path(headatlas.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                flags = re.findall(r"(?<![\w(-])--[a-z][a-z0-9-]*(?![\w:-])", node.value)
                unknown += [f"{path.name}:{node.lineno} {flag}" for flag in flags if flag not in known]
    assert not [flag for flag in unknown if not flag.endswith(("--install-completion", "--version"))]


@pytest.mark.parametrize(
    "step",
    [
        "headatlas explore atlas",
        "headatlas table atlas findings",
        "headatlas prune gpt2 --by importance --share 0.3 --ablation ablation",
        "headatlas survey --maps maps --out DIR",
        "headatlas survey fitted --text FILE",
        "headatlas merge DIR... --out DIR",
        "headatlas table atlas reproduction --raw",
    ],
)
def test_next_steps_can_be_typed(step):
    words = shlex.split(step)[1:]
    make_app(words).parse_args(words, exit_on_error=False, print_error=False)
