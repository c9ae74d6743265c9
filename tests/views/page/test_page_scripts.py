"""The logic of the page's scripts, each module run by itself in a browser, against slow and obvious oracles."""

import numpy as np
import pytest
import torch

from headatlas.statistics.words import word_attention


def test_heads_of_layers_of_different_width(run):
    found = run(
        "data/heads",
        """const heads = new m.Heads(x);
        const all = Array.from({ length: heads.total }, (_, index) => heads.name(index));
        const back = all.map((name) => heads.parse(name));
        const none = ["0-1", "1-4", "3-9", "4-1", "a", "1", "", "1-", "-1-1", "1-1x"].map((name) => heads.parse(name));
        return { all, back, none };""",
        [3, 1, 2],
    )
    assert found["all"] == ["1-1", "1-2", "1-3", "2-1", "3-1", "3-2"]
    assert found["back"] == list(range(6))
    assert set(found["none"]) == {-1}


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        ("1-1", "ArrowRight", "1-2"),
        ("1-3", "ArrowRight", "1-3"),
        ("1-1", "ArrowDown", "2-1"),
        ("1-2", "ArrowDown", "1-2"),
        ("3-2", "ArrowUp", "3-2"),
        ("3-2", "Home", "3-1"),
        ("1-1", "End", "1-3"),
        ("1-1", "x", "1-1"),
    ],
)
def test_arrow_keys_stay_among_the_heads(run, start, key, end):
    code = "const heads = new m.Heads([3, 1, 2]); return heads.name(heads.move(heads.parse(x[0]), x[1]));"
    assert run("data/heads", code, [start, key]) == end


def test_a_p_value_keeps_its_small_letter_at_the_start_of_a_sentence(run):
    shown = run("data/measures", "return x.map(m.capitalised);", ["p < 0.01", "p = 0.5", "position of the noun", ""])
    assert shown == ["p < 0.01", "p = 0.5", "Position of the noun", ""]


def test_links_come_back_and_broken_ones_do_no_harm(run):
    parts = {"head": "8-10", "view": "sentence", "example": "3", "measure": "a/b c&d=e#é"}
    link = run("links", "return m.formatLink(x);", parts)
    assert link.startswith("#head=8-10&view=sentence&example=3&measure=")
    assert run("links", "return m.parseLink(x);", link) == parts
    for broken in ("", "#", "#&&", "#=1", "#head", "#head=%E0%A4%A", "#__proto__=1&head=1-1"):
        assert run("links", "return m.parseLink(x);", broken).get("head") in (None, "1-1")


def test_a_link_that_names_what_is_not_there_changes_nothing(run):
    code = """
        const heads = new m.Heads([2, 2]);
        const known = { heads, views: ["grid", "map"], examples: 2 };
        const store = new m.Store({ view: "grid", head: 1, example: 0 }, known);
        store.follow(x);
        return store.shown;"""
    before = {"view": "grid", "head": 1, "example": 0}
    for link in ("#head=9-9&view=nowhere&example=7", "#example=0", "#example=-1", "#example=1.5", "#example=x"):
        assert run("store data/heads", code, link) == before
    found = run("store data/heads", code, "#head=2-1&view=map&example=2")
    assert (found["head"], found["view"], found["example"]) == (2, "map", 1)


def test_sorting_puts_missing_values_last_both_ways(run):
    code = """
        const frame = new m.Frame([{ name: "a", number: true }, { name: "b", number: false }], [x[0], x[1]]);
        const rows = frame.where(() => true);
        return ["a", "b"].flatMap((name) => [false, true].map((down) => frame.sorted(rows, name, down)));"""
    found = run("data/frames", code, [[3, None, 1, 3], ["b", "a", None, "c"]])
    assert found == [[2, 0, 3, 1], [0, 3, 2, 1], [1, 0, 3, 2], [3, 0, 1, 2]]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 20, None], ["1", "20", ""]),
        ([0.123456, 0.5], ["0.1235", "0.5000"]),
        ([12.3456, 0.00001], ["12.35", "1.0e-5"]),
        ([0.00012349, 0], ["0.0001235", "0.0000000"]),
    ],
)
def test_numbers_of_a_column_are_written_alike(run, values, said):
    assert run("data/frames", "return x.map(m.numberFormat(x));", values) == said


def test_heads_without_a_value_leave_the_decimals_of_the_others(run):
    code = "const format = m.numberFormat(Float64Array.of(NaN, 0.25, 1.5)); return [1.5, NaN].map(format);"
    assert run("data/frames", code) == ["1.500", ""]


def test_csv_quotes_what_needs_it(run):
    found = run("data/frames", "return m.csv(x[0], x[1]);", [["a", "b,c"], [['say "hi"', None], [1.5, "two\nlines"]]])
    assert found == 'a,"b,c"\n"say ""hi""",\n1.5,"two\nlines"\n'


@pytest.mark.parametrize("how", ["mean", "first", "max"])
def test_attention_between_words_is_that_of_the_studies(run, how):
    word_of = [-1, 0, 1, 1, 1, 2, -1]
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=7).astype(np.float32)
    index = torch.tensor([[3, 0, 1, 1, 1, 2, 4]])  # special tokens after the words
    expected = word_attention(torch.from_numpy(weights)[None, None], index, 5, how)[0, 0].numpy()
    code = """
        const tokens = ["[CLS]", "a", "b", "b", "b", "c", "[SEP]"];
        const division = m.wordUnits({ word_of: x[1], words: ["a", "b", "c"], tokens });
        const map = m.unitMap(Float64Array.from(x[0]), 7, division, x[2]);
        return { map: [...map], words: division.units.map((unit) => unit.text) };"""
    found = run("data/attention", code, [weights.ravel().tolist(), word_of, how])
    assert found["words"] == ["[CLS]", "a", "b", "c", "[SEP]"]
    order = [3, 0, 1, 2, 4]  # the page keeps the order of the text
    np.testing.assert_allclose(np.reshape(found["map"], (5, 5)), expected[np.ix_(order, order)], atol=1e-6)


def test_words_that_the_model_saw_as_unknown_are_marked(run):
    example = {"word_of": [-1, 0, 1, 1, 2, -1], "words": ["a", "\u732b", "[UNK]"]}
    example["tokens"] = ["[CLS]", "a", "[UNK]", "b", "[UNK]", "[SEP]"]
    code = "return m.wordUnits(x[0], x[1]).units.map((unit) => unit.text);"
    assert run("data/attention", code, [example, "[UNK]"]) == ["[CLS]", "a", "[UNK] \u732b", "[UNK]", "[SEP]"]
    assert run("data/attention", code, [example, None]) == ["[CLS]", "a", "\u732b", "[UNK]", "[SEP]"]


def test_verdicts_on_a_tree(run):
    tree = {"heads": [1, -1, 1, 2], "relations": ["det", "root", "poss", "x"], "counts_as": [0, 1, 3, 3]}
    by_row, by_column = [1, 0, 0, 1], [255, 255, 255, 2]
    code = "return m.treeVerdicts(x[0], Uint8Array.from(x[1]), 1, x[2]);"
    predictions = [9] * 8 + by_row + by_column
    found = run("data/attention", code, [tree, predictions, "dependent_to_head"])
    assert [(one["word"], one["predicted"], one["right"]) for one in found] == [
        (0, 1, True),
        (2, 1, True),
        (3, 1, False),
    ]
    found = run("data/attention", code, [tree, predictions, "head_to_dependent"])
    assert [(one["predicted"], one["right"]) for one in found] == [(-1, False), (2, False), (2, True)]


def test_verdicts_on_mentions(run):
    mentions = [{"head": 1}, {"head": 3}, {"head": 5}]
    code = "return m.mentionVerdicts(x[0], [[], [0], [0, 1]], Uint8Array.from(x[1]), 1);"
    found = run("data/attention", code, [mentions, [0, 0, 0, 255, 255, 3]])
    assert [(one["word"], one["predicted"], one["right"]) for one in found] == [(3, -1, False), (5, 3, True)]


def test_measures_of_every_table_with_a_row_a_head(run):
    code = """
        const column = (name, number = true) => ({ name, number });
        const frames = new Map([
          ["positions", new m.Frame([column("layer"), column("head"), column("offset"), column("value")],
            [[1, 1, 1, 1], [1, 1, 2, 2], [-1, 1, -1, 1], [0.1, 0.2, 0.3, null]])],
          ["best", new m.Frame([column("relation", false), column("layer"), column("head"), column("value")],
            [["a", "b"], [1, 1], [1, 1], [1, 2]])],
          ["new_table", new m.Frame([column("layer"), column("head"), column("score")], [[1, 1], [1, 2], [5, 7]])],
          ["other", new m.Frame([column("value")], [[1]])],
        ]);
        const heads = new m.Heads([2]);
        const said = (one) => [one.id, one.label, [...one.values].map(one.format), m.strongest(one), m.range(one)];
        return m.measuresOf(frames, x, heads).map(said);"""
    tables = {
        "positions": [
            {"key": {"offset": -1}, "column": "value", "label": "previous", "unit": "share"},
            {"key": {"offset": 0}, "column": "value", "label": "in no row", "unit": "share"},
            {"key": {"offset": 1}, "column": "value", "label": "next", "unit": "share"},
        ],
        "best": [{"key": {"relation": word}, "column": "value", "label": word, "unit": "nats"} for word in "ab"],
        "new_table": [{"key": {}, "column": "score", "label": "score", "unit": "number"}],
        "other": [],
    }
    argument = {name: {"measures": measures} for name, measures in tables.items()}
    assert run("data/measures data/frames data/heads", code, argument) == [
        ["positions/-1", "previous", ["10.0 %", "30.0 %"], 1, [0, 0.3]],
        ["positions/1", "next", ["20.0 %", ""], 0, [0, 0.2]],
        ["best/a", "a", ["1", ""], 0, [1, 2]],
        ["best/b", "b", ["2", ""], 0, [2, 3]],
        ["new_table", "score", ["5", "7"], 1, [5, 7]],
    ]


@pytest.mark.parametrize(
    ("measures", "first", "axes", "panels"),
    [
        (
            [("a", "share", True, True), ("b", "share", True, True), ("c", "nats", True, False)],
            "a",
            ["c", "a"],
            ["a", "b"],
        ),
        ([("a", "number", False, 0), ("b", "number", True, 1)], "b", ["a", "b"], ["b"]),
        ([("a", "share", False, 0)], "a", ["a", "a"], []),
    ],
)
def test_what_comes_first_and_where_follows_from_what_measures_say(run, measures, first, axes, panels):
    code = """
        const measures = x.map(([id, unit, main, panel]) => ({ id, unit, main, panel: Boolean(panel), values: [1] }));
        const ids = (some) => some.map(({ id }) => id);
        return [m.firstMeasure(measures).id, ids(m.mapAxes(measures)), ids(m.panelsOf(measures))];"""
    assert run("data/measures", code, measures) == [first, axes, panels]


def test_search_finds_heads_relations_and_patterns(run):
    code = """
        const heads = new m.Heads([12, 12, 12]);
        const format = (value) => String(value);
        const values = Float64Array.from({ length: 36 }, (_, index) => index);
        const measure = (id, label) => ({ id, label, group: id.split("/")[0], values, format });
        const entries = m.searchEntries({
          heads, behaviours: [{ label: "broad", heads: [3] }], strongest: () => 35,
          measures: [
            measure("positions/-1", "attention to the previous token"),
            measure("dependencies/dobj/x", "dobj, dependent → head"),
          ],
          best: new Map([["dobj", { layer: 3, head: 1, said: "78 %", measure: "dependencies/dobj/x" }]]),
          tables: [["positions", "about"]], examples: [{ words: ["The", "dobj"], tokens: [], corpus: "text" }],
          views: { measure: "grid", behaviour: "map" },
        });
        const atlas = new m.Atlas({ heads: heads.perLayer });
        const named = (query) => atlas.named(query);
        return x.map((query) => m.find(entries, named, query).map((one) => one.label));"""
    found = run(
        "data/search data/heads data/atlas",
        code,
        ["dobj", "3-12", "head 2-2", "previous token", "TOKEN prev", "broad", "zzz", "", "99-1"],
    )
    assert found[0] == ["dobj", "dobj, dependent → head", "The dobj"]
    assert found[1] == ["Head 3-12"]
    assert found[2] == ["Head 2-2"]
    assert found[3][0] == found[4][0] == "attention to the previous token"
    assert found[5] == ["broad"]
    assert found[6:] == [[], [], []]


def test_names_on_the_map_cover_nothing(run):
    points = [{"x": 0, "y": 0}, {"x": 12, "y": 0}, {"x": 200, "y": 0}, None]
    assert run("pictures/scatter", "return m.namesThatFit(x, 7);", points) == [1, 2]


@pytest.mark.parametrize(("key", "to"), [("ArrowRight", 1), ("ArrowDown", 2), ("ArrowLeft", None), ("a", None)])
def test_arrows_on_the_map_lead_to_the_nearest_head_that_way(run, key, to):
    points = [{"x": 0, "y": 0}, {"x": 10, "y": 1}, {"x": 2, "y": 30}, None, {"x": 11, "y": 9}]
    assert run("pictures/scatter", "return m.nearestThatWay(x[0], 0, x[1]);", [points, key]) == to


def test_colours_have_the_contrast_that_reading_needs(run):
    """WCAG AA: text 4.5 to 1 on its ground, marks 3 to 1."""

    def luminance(colour):
        channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one, other):
        high, low = sorted((luminance(one), luminance(other)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    code = """
        const shares = Array.from({ length: 21 }, (_, step) => step / 20);
        return ["light", "dark"].map((theme) => {
          const p = m.paletteOf(theme);
          return { ...p, shade: undefined, onShade: undefined, kind: undefined, layer: undefined,
                   cells: shares.map((share) => [p.shade(share), p.onShade(share)]) };
        });"""
    for colours in run("pictures/palette", code):
        assert all(contrast(colours[name], colours["paper"]) >= 4.5 for name in ("ink", "faint"))
        assert all(contrast(colours[name], colours["paper"]) >= 3 for name in ("accent", "picked", "right", "wrong"))
        assert min(contrast(*cell) for cell in colours["cells"]) >= 4.5


def test_hostile_words_become_visible_and_fit(run):
    code = "return x.map((text) => [m.visible(text), m.textWidth(m.fitted(text, 14, 100), 14) <= 100]);"
    texts = ["Ġthe", "▁the", "\n", " ", "a\u202eb", "a\x00b", "x" * 500, "👩‍👩‍👧‍👦" * 50, "שלום", "<b>"]
    found = run("dom", code, texts)
    assert [text for text, _ in found[:6]] == ["the", "the", "⏎", "␣", "a\ufffdb", "a\ufffdb"]
    assert [text for text, _ in found[6:]] == texts[6:]
    assert all(fits for _, fits in found)


def test_of_questions_that_wait_only_the_newest_is_asked(run):
    found = run(
        "data/asking",
        """const asked = [];
        let most = 0, now = 0;
        const newest = new m.Newest(async (value) => {
          now += 1;
          most = Math.max(most, now);
          await new Promise((done) => setTimeout(done, 5));
          asked.push(value);
          now -= 1;
          if (value === 5) throw new Error("five");
        });
        newest.give(1); newest.give(2); newest.give(3);
        await newest.give(4);
        const failed = await newest.give(5).then(() => "", (error) => error.message);
        await newest.give(6);
        return { asked, most, failed };""",
    )
    assert found == {"asked": [1, 4, 5, 6], "most": 1, "failed": "five"}


def test_what_the_server_refuses_is_told_in_its_words(run):
    said = run(
        "data/asking",
        """const sent = [];
        const reply = (status, body) => async (path, options) => {
          sent.push([path, options.headers["X-Headatlas-Token"], options.body]);
          return new Response(body, { status });
        };
        const sending = (fetcher) => m.ask({ token: "t" }, { text: "a" }, "/api/ask", fetcher);
        const tell = (fetcher) => sending(fetcher).then((one) => one, (error) => error.message);
        const broken = () => Promise.reject(new TypeError("no"));
        const all = [reply(200, '{"ok":1}'), reply(400, '{"error":"too long"}'), reply(503, "busy"), broken];
        return [await Promise.all(all.map(tell)), sent[0]];""",
    )
    answers, sent = said
    assert answers[:3] == [{"ok": 1}, "too long", "The server answered 503."]
    assert "does not answer" in answers[3]
    assert sent == ["/api/ask", "t", '{"text":"a"}']


def test_of_too_many_lines_the_darkest_are_drawn(run):
    weights = np.random.default_rng(0).permutation(100) / 100
    found = run(
        "pictures/lines",
        """const weight = (from, to) => x[from * 10 + to];
        return [100, 99, 7, 1].map((most) => m.faintestOf(10, weight, most));""",
        weights.tolist(),
    )
    assert found[0] == 0
    assert [sum(weight >= least for weight in weights) for least in found[1:]] == [99, 7, 1]


def test_a_head_shows_the_rarest_of_its_labels_and_rests_besides(run):
    """Of equally rare relations that with the largest lead; labels of resting and states are no roles."""
    rows = [
        (1, 1, "obj", 0.9, "label"),
        (1, 1, "case", 0.8, "label"),
        (1, 2, "previous token", 0.9, "label"),
        (1, 2, "coreference", 0.6, "label"),
        (1, 3, "previous token", 0.9, "label"),
        (2, 1, "[CLS]", 0.9, "label"),
        (2, 2, "broad", 0.9, "state"),
    ]
    names = ["layer", "head", "label", "strength", "kind"]
    found = run(
        "data/roles data/heads data/frames",
        """const heads = new m.Heads([3, 3]);
        const columns = x.names.map((_, at) => x.rows.map((row) => row[at]));
        const frame = new m.Frame(x.names.map((name) => ({ name })), columns);
        const best = new Map([["obj", { lead: 0.1 }], ["case", { lead: 0.4 }]]);
        const measureOf = new Map([["token_kinds/resting", { values: [0.5, 0.1, 0.1, 0.9, 0.1, 0.31] }]]);
        const content = { resting: { least: 0.3, labels: ["[CLS]"] } };
        const roles = m.headRoles({ frames: new Map([["behaviours", frame]]), heads, content, measureOf, best });
        const atlas = { roles, heads };
        const chosen = x.only.map((only) => {
            const test = m.chosenHeads(atlas, only);
            return test && roles.flatMap((_, index) => (test(index) ? [index] : []));
        });
        return { roles: roles.map(({ role, label, rests }) => [role, label, rests]), chosen };""",
        {"rows": rows, "names": names, "only": ["", "relation,antecedent", "relation,at work", "rests", "1-3,2-2"]},
    )
    assert found["roles"] == [
        ["relation", "case", True],
        ["antecedent", "coreference", False],
        ["previous token", "previous token", False],
        ["only rests", "only rests", True],
        ["spreads evenly", "spreads evenly", False],
        ["only rests", "only rests", True],
    ]
    assert found["chosen"] == [None, [0, 1], [], [0, 3, 5], [2, 4]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_of_roles_are_seen_on_the_paper_and_signs_on_their_cells(run, theme):
    found = run(
        "pictures/palette data/roles",
        """const colours = m.paletteOf(x);
        return Object.keys(m.ROLES).map((role) => {
            const fill = colours.role(role);
            return [colours.line(role), colours.paper, fill, colours.on(fill)];
        });""",
        theme,
    )

    def contrast(one, other):
        def light(colour):
            shares = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
            linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
            return np.dot(linear, [0.2126, 0.7152, 0.0722])

        low, high = sorted([light(one), light(other)])
        return (high + 0.05) / (low + 0.05)

    assert len({fill for _, _, fill, _ in found}) == len(found)
    for line, paper, fill, ink in found:
        assert contrast(line, paper) >= 3
        assert contrast(fill, ink) >= 3
