"""The scripts of a comparison: matched heads, scales, differences."""

import pytest

FRAMES = """
    const column = (name, number = true) => ({ name, number });
    const frame = (columns) => new m.Frame(Object.keys(columns).map((name) => column(name)), Object.values(columns));
"""


def test_heads_are_matched_by_distance_where_it_was_measured(run):
    code = f"""{FRAMES}
        const heads = [new m.Heads([2, 1]), new m.Heads([2])];
        const matches = frame({{ layer_a: [1, 1, 2], head_a: [1, 2, 1], layer_b: [1, 1, null], head_b: [2, 1, null],
                                 distance: [0.1, 0.2, null] }});
        const pairs = new m.Pairs(matches, undefined, heads);
        const said = (one) => [one.other, one.why, one.distance];
        const changes = [{{ head: 0 }}, {{ other: 0 }}, {{ head: 2 }}, {{ head: 1, other: 1 }}, {{ view: "x" }}];
        return {{
          a: [0, 1, 2, -1].map((index) => said(pairs.match(0, index))),
          b: [0, 1].map((index) => said(pairs.match(1, index))),
          values: [...pairs.values(1, "distance")],
          gone: String(pairs.values(0, "distance")[2]),
          complete: changes.map((parts) => pairs.complete(parts)),
        }};"""
    found = run("data/pairs data/frames data/heads", code)
    assert found["a"] == [[1, "distance", 0.1], [0, "distance", 0.2], [-1, "none", None], [-1, "none", None]]
    assert found["b"] == [[1, "distance", 0.2], [0, "distance", 0.1]]
    assert found["values"] == [0.2, 0.1]
    assert found["gone"] == "NaN"
    assert found["complete"] == [
        {"head": 0, "other": 1, "side": 0},
        {"other": 0, "head": 1, "side": 1},
        {"head": 2, "other": -1, "side": 0},
        {"head": 1, "other": 1},
        {"view": "x"},
    ]


def test_without_distances_heads_are_matched_by_label_then_by_place(run):
    code = f"""{FRAMES}
        const labels = frame({{ layer_a: [1, 1, 1], head_a: [1, 1, 2], strength_a: [0.2, 0.9, 0.5],
                                layer_b: [1, 1, null], head_b: [1, 3, null], strength_b: [0.2, 0.9, null] }});
        return [[3, 3], [3, 4]].map(([a, b]) => {{
          const pairs = new m.Pairs(undefined, labels, [new m.Heads([a]), new m.Heads([b])]);
          return [0, 1, 2].map((index) => [pairs.match(0, index).other, pairs.match(0, index).why]);
        }});"""
    same, different = run("data/pairs data/frames data/heads", code)
    assert same == [[2, "behaviour"], [1, "place"], [2, "place"]]
    assert different == [[2, "behaviour"], [-1, "none"], [-1, "none"]]


def test_both_sides_have_the_same_labels_and_scales(run):
    code = """
        const side = (behaviours, values) => {
          const measure = { id: "p", share: false, values: Float64Array.from(values), format: String };
          return { behaviours, measures: [measure], measureOf: new Map([["p", measure]]) };
        };
        const sides = [
          side([{ label: "x", heads: [1] }, { label: "y", heads: [2] }], [1, 2, NaN]),
          side([{ label: "y", heads: [0, 1] }], [8, 4]),
        ];
        m.alignMeasures(sides);
        m.alignBehaviours(sides);
        const text = (measure) => measure.format(1.5);
        return sides.map((one) => [one.behaviours, m.range(one.measures[0]), text(one.measures[0])]);"""
    one, other = run("data/comparison data/measures", code)
    assert one[0] == [{"label": "y", "heads": [2]}, {"label": "x", "heads": [1]}]
    assert one[1] == [0, 8]
    assert other[0] == [{"label": "y", "heads": [0, 1]}, {"label": "x", "heads": []}]
    assert one[1:] == other[1:]


def test_differences_are_ranked_by_size_or_by_their_intervals(run):
    code = f"""{FRAMES}
        const f = frame({{ difference: [0.5, -0.9, null, 0.3, -0.2], low: [0.1, -2, null, null, -0.4],
                           high: [0.9, 0.2, null, null, -0.15] }});
        const ways = [["largest", false], ["surest", false], ["largest", true]];
        return ways.map(([order, clear]) => m.ranked(f, [0, 1, 2, 3, 4], order, clear));"""
    largest, surest, clear = run("data/differences data/frames", code)
    assert largest == [1, 0, 3, 4]
    assert surest == [4, 0, 1, 3]
    assert clear == [0, 4]


@pytest.mark.parametrize(
    ("scope", "measure", "title"),
    [
        ("head", "relation=dobj direction=dependent_to_head", "3-5 dobj, dependent → head"),
        ("layer", "relation=nmod:poss direction=head_to_dependent", "layer 3 nmod:poss, head → dependent"),
        ("model", "relation=a b=c direction=head_to_dependent", None),
        ("best", "relation=dobj", "dobj (A 3-5, B 4-1)"),
        ("row", "measure=stress distance=js", "stress, js"),
        ("head", "", None),
    ],
)
def test_rows_of_differences_are_named_in_words(run, scope, measure, title):
    code = f"""{FRAMES}
        const f = frame({{ table: ["dependencies"], column: ["accuracy"], scope: [x[0]], measure: [x[1]],
                           layer_a: [3], head_a: [5], layer_b: [4], head_b: [1] }});
        const differences = {{ "dependencies/accuracy": {{ unit: "accuracy", labels: x[2] }} }};
        return m.rowTitle({{ content: {{ differences }} }}, f, 0);"""
    labels = {
        "relation=dobj direction=dependent_to_head": "dobj, dependent → head",
        "relation=nmod:poss direction=head_to_dependent": "nmod:poss, head → dependent",
    }
    found = run("data/differences data/frames", code, [scope, measure, labels])
    assert isinstance(found, str) if title is None else found == title
