"""How large the house is, counted: what grows beyond these numbers has to be argued for in the change that does it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

from headatlas.commands.ablate.tasks import TASKS
from headatlas.commands.shared.entry import list_entries
from headatlas.commands.shared.options import list_options
from headatlas.commands.survey.options import SurveyOptions
from headatlas.engine.corpora import KINDS
from headatlas.studies import STUDIES
from typed import typed

SOURCE = Path(__file__).parents[1] / "src" / "headatlas"
MODULES = sorted(SOURCE.rglob("*.py"))
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
NO_CODE |= {tokenize.ENCODING, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            constant = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                texts.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    modules = {name_of(path) for path in MODULES}
    found: dict[str, set[str]] = defaultdict(set)
    for path in [*MODULES, SOURCE / "__init__.pyi"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found[inner if inner in modules else node.module].add(name_of(path))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.name].add(name_of(path))
    return found


def test_lines_and_files():
    # 24,600 in 315 before every claim of the sources was printed with its control: some 40 claims with rules of their
    # own, baselines that know tags, controls of keyphrases, tests that hold under skew, orders beside shuffled labels.
    # 28,900 in 345 before inputs of any length (tiles, masks as intervals, kernels, reductions), models of any width,
    # one progress display, reports as text and JSON, completion, figures as functions, maps in Python, effects.
    assert sum(code_lines(path.read_text(encoding="utf-8")) for path in MODULES) <= 32_500
    assert len(MODULES) <= 350


def test_few_modules_serve_only_one_other():
    users = importers()
    found = [found.place.partition(":")[0] for registry in (STUDIES, KINDS, TASKS) for found in registry.found.values()]
    parts = ("options", "report", "tables", "claims")
    by_name = {f"headatlas.commands.{name}.{module}" for name in list_entries() for module in parts} | set(found)
    names = [name_of(path) for path in MODULES if path.name != "__init__.py"]
    single = [name for name in names if len(users[name]) <= 1 and name not in by_name]
    assert len(single) < 65, single


def test_exceptions_from_the_linters_are_few():
    marks = re.compile(r"# (type: ignore|noqa)")
    assert sum(len(marks.findall(path.read_text(encoding="utf-8"))) for path in MODULES) <= 60


def test_survey_has_28_options_and_a_help_of_at_most_120_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = typed("survey", "--help").stdout
    flags = {f"--{option.name.replace('_', '-')}" for option in list_options(SurveyOptions)} | {"--figures"}
    assert len({flag for flag in flags if flag in text} - {"--model"}) == 28
    assert len(text.splitlines()) <= 120


def test_every_command_is_a_folder_that_declares_its_entry():
    folders = {path.name for path in (SOURCE / "commands").iterdir() if not path.name.startswith("__")}
    assert folders == {*list_entries(), "shared"}
