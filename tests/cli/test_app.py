"""The command line as a whole: mistakes are explained, help is quick, nothing heavy is imported too early."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest

from headatlas.cli.app import COMPLETION, make_app
from typed import typed

HEAVY = ["torch", "transformers", "numpy", "pandas", "scipy", "matplotlib"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("layers bert --train a --eval b --sed 3", "Error: Unknown option: --sed. Did you mean --seed?"),
        ("laers bert", 'Error: Unknown command "laers". Did you mean "layers"?'),
        ("layers bert gpt2 --train a --eval b", "Error: Unexpected argument: gpt2."),
        ("layers bert --train a --evl b", "Error: --eval is missing. Is --evl misspelt?"),
        ("layers --train a --eval b", "Error: MODEL is missing. Put it before all options."),
        (
            "survey bert pyproject.toml",
            "Error: Unexpected argument: pyproject.toml. Did you mean --text pyproject.toml?",
        ),
        ("layers bert --train a --eval b --dtype x", 'Error: Invalid value "x" for --dtype. Choose from: "float32", '),
    ],
)
def test_mistakes_are_explained(words, sentence):
    ended = typed(*words.split())
    assert ended.exit_code == 2
    assert ended.output.startswith(sentence), ended.output


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["layers", "--help"],
        ["layers", "bert", "--train", "a", "--eval", "b", "--seeds", "0"],
        ["survey", "--help"],
        ["survey", "bert", "--text", "a", "--control", "fresh", "--random-weights", "fresh"],
        ["survey", "--maps", "a", "--dtype", "float16"],
        ["extract", "bert", "--text", "a", "--shard", "2/1"],
        ["merge", "--help"],
        ["survey", "embeded"],
        ["survey", "./nowhere"],
        ["survey", "bert", "--text", "nowhere.txt"],
        ["survey", "bert", "--segments", "-5"],
        ["survey", "bert", "--studies", "postions"],
        ["prune", "bert", "--heads", "3.1"],
        ["prune", "bert", "--by", "importance", "--share", "2"],
        ["draw", "bert", "A dog.", "--head", "1-1,2"],
        ["compare", "nowhere", "neither"],
        ["table", "nowhere"],
        ["__complete", "survey", "emb"],
        ["__complete", "survey", "bert", "--studies", "pos"],
        ["__complete", "ablate", "bert", "--task", ""],
    ],
)
def test_nothing_heavy_is_imported_for_help_or_to_refuse_a_wrong_option(words):
    code = f"""
import sys
from headatlas.cli.app import main
try:
    main({words!r})
except SystemExit:
    pass
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_version():
    assert typed("--version").stdout.startswith("headatlas ")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["headatlas", "la"], ["layers"]),
        (["headatlas", "layers", "--tr"], ["--train", "--train-limit", "--train-targets", "--trust-remote-code"]),
        (["headatlas", "layers", "bert", "--dtype", ""], ["float32", "bfloat16", "float16", "float64"]),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words, completed, tmp_path):
    """What is known when the script is made; the other words it asks for (`__complete`)."""
    script = tmp_path / "completion"
    script.write_text(make_app(COMPLETION).generate_completion(prog_name="headatlas", shell="bash"), encoding="utf-8")
    asked = f"source {script}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _headatlas"
    ended = subprocess.run(
        ["bash", "-c", f'{asked}; echo "${{COMPREPLY[@]}}"'], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == completed
