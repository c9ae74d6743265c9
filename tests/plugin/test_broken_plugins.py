"""Studies of another package that fail are named with their package, and take no table of others with them."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.engine.contract import describe_difference
from tests.plugin.broken import ENTRY_POINTS
from tests.plugin.environments import Environment

OWN = "positions,token_kinds,entropy,max_attention,similarity,gradients"
SMALL = ("--segments", 6, "--max-tokens", 40, "--examples", 4, "--bootstrap", 20, "--device", "cpu", "--no-figures")
HOW = {
    "wrong_shape": "segment_means of the study 'wrong_shape' returned shape [2, 2]",
    "fails_to_see": "IndexError: no such layer",
    "fails_to_end": "ZeroDivisionError: division by zero",
    "fails_to_make_frames": "Table fails_to_make_frames: missing or undeclared columns: low",
    "fails_to_find": "KeyError: 'positions'",
    "fails_to_label": "RuntimeError: no labels today",
    "not_a_number": "its values are not finite, though the model's attention is",
    "no_state": "it declares no State",
    "taken_table": "a table called positions exists already",
    "positions (headatlas-broken 2.0)": "the study 'positions' exists already; rename it in that package.",
    "wrong_name": "it calls itself 'another_name'",
    "cannot_be_made": "OSError: no such device",
    "of_broken_corpus": "its kind of corpus 'broken_corpus' of headatlas-broken 2.0 failed: AttributeError",
    "cannot_be_imported": "of the package headatlas-broken 2.0 cannot be imported (ModuleNotFoundError",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with a package whose studies fail."""
    environment = Environment(tmp_path_factory.mktemp("broken") / "environment")
    environment.declare("headatlas-broken", "2.0", ENTRY_POINTS)
    return environment


@pytest.fixture(scope="module")
def survey(tmp_path_factory, save_tiny):
    """The words of a survey into a folder."""
    folder = tmp_path_factory.mktemp("surveys")
    text = folder / "text.txt"
    text.write_text("\n\n".join(ha.sample_text().read_text(encoding="utf-8").split("\n\n")[:4]), encoding="utf-8")
    model = save_tiny("bert")
    return lambda out, *more: ("survey", model, "--text", text, *SMALL, *more, "--out", folder / out)


def check_named(output, folder):
    """Every failure is in the manifest and in the report, with its package."""
    skipped = ha.open_atlas(folder).manifest["studies_skipped"]
    assert set(skipped) == set(HOW)
    for name, how in HOW.items():
        assert how in skipped[name]
        assert "headatlas-broken 2.0" in name + skipped[name]
        assert f"Not run: {name}: {skipped[name]}" in output


def check_equal(folder, other):
    """Both have the same tables, cell by cell, but for rounding: studies that name no reductions need whole maps."""
    tables, others = ha.open_atlas(folder).tables, ha.open_atlas(other).tables
    assert list(tables) == list(others)
    for name in tables:
        assert describe_difference(others[name], tables[name]) is None, name


def test_failures_are_named_and_take_nothing_with_them(environment, survey):
    broken_corpus = ("--broken-corpus", __file__)
    commands = [
        survey("all", *broken_corpus),
        survey("own", "--studies", OWN),
        survey("none", "--studies", "fails_to_end"),
        survey("frames", "--studies", "fails_to_make_frames"),
        ("survey", "--help"),
        ("table", survey("all")[-1], "positions"),
    ]
    all_studies, own, none, frames, shown, table = environment.run(*commands)
    assert (all_studies[0], own[0], shown[0], table[0]) == (0, 0, 0, 0), all_studies[1] + own[1] + shown[1] + table[1]
    check_named(all_studies[1], commands[0][-1])
    check_equal(commands[0][-1], commands[1][-1])
    assert ha.open_atlas(commands[0][-1]).manifest["plugins"] == {}
    for (code, output), how in ((none, "division by zero"), (frames, "undeclared columns: low")):
        assert code == 1
        assert "None of the chosen studies could run. fails_to_" in output
        assert "headatlas-broken 2.0 failed: " in output
        assert how in output
    assert "fails_to_see" in shown[1]
    assert "--lost-corpus" in shown[1]


@pytest.mark.kills  # it starts processes, as the tests do that kill them
def test_failures_in_workers_are_named_and_take_nothing_with_them(environment, survey):
    commands = [
        survey("all-2", "--workers", 2, "--broken-corpus", __file__),
        survey("own-2", "--workers", 2, "--studies", OWN),
    ]
    (code, output), (own_code, own_output) = environment.run(*commands)
    assert (code, own_code) == (0, 0), output + own_output
    check_named(output, commands[0][-1])
    tables, others = (ha.open_atlas(command[-1]).tables for command in commands)
    assert list(tables) == list(others)
    for name in tables:  # the order in which workers end decides the last bits of sums
        if name in ("positions", "token_kinds", "entropy", "max_attention", "gradients"):
            numbers, others_numbers = (side[name].select_dtypes("number") for side in (tables, others))
            assert numbers.to_numpy() == pytest.approx(others_numbers.to_numpy(), rel=1e-5, nan_ok=True), name
