"""Figure 5: the relation's own lines are red, in the direction in which the head attends."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headatlas.errors import SettingError
from headatlas.results.example import RelationExample
from headatlas.views.figures.lines import attention_lines, relation_panel, relations_figure
from headatlas.views.figures.style import RED, save_figure
from tests.views.synthetic_tables import maps

WORDS = ("She", "wrote", "a", "letter", ".")


def example(direction="dependent_to_head", **changes):
    fields = {"accuracy": 0.868} | changes
    return RelationExample("obj", 8, 10, direction, WORDS, maps(5, 5) * 0.9 + 0.02, ((3, 1),), **fields)


@pytest.mark.parametrize(("direction", "line"), [("dependent_to_head", (3, 1)), ("head_to_dependent", (1, 3))])
def test_gold_pairs_are_red_and_others_grey(direction, line):
    lines = attention_lines(Figure().subplots(), relation_panel(example(direction)))
    colours = {
        (int(a[1]), int(b[1])): tuple(colour[:3])
        for (a, b), colour in zip(lines.get_segments(), lines.get_colors(), strict=True)
    }
    assert [pair for pair, colour in colours.items() if colour == to_rgb(RED)] == [line]
    (grey,) = {colour for colour in colours.values() if colour != to_rgb(RED)}
    assert len(set(grey)) == 1
    assert 0.2 < grey[0] < 0.6


def test_captions_say_who_attends_to_whom():
    assert relation_panel(example()).caption == "Head 8-10: obj dependents attend to their heads (86.8 %)"
    turned = relation_panel(example("head_to_dependent", accuracy=None))
    assert turned.caption == "Head 8-10: heads attend to their obj dependents"


def test_a_page_of_examples(tmp_path):
    figure = relations_figure([example()] * 6)
    assert len(figure.axes) == 6
    assert all(inches < 11 for inches in figure.get_size_inches())
    (path,) = save_figure(figure, tmp_path / "figure5", ("png",))
    assert path.stat().st_size > 10_000


def test_an_unknown_direction_and_no_example_are_refused():
    with pytest.raises(SettingError, match="dependent_to_head, head_to_dependent"):
        relations_figure([example("sideways")])
    with pytest.raises(SettingError):
        relations_figure([])
