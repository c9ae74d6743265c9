"""Several heads, several words and no sink in the sentence view; and how to open an example in the explorer."""

import shlex

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect

from headatlas.views.page import write_page
from tests.views.chromium import Tab
from tests.views.synthetic_atlas import synthetic_atlas


def without_sink(weights, sink):
    """Rows rescaled without the columns of the sink, in plain loops; rows with under 2 % left are 0."""
    size = len(weights)
    rescaled, shares, empty = np.zeros((size, size)), [], []
    for i in range(size):
        if sink[i]:
            continue
        left = sum(weights[i][j] for j in range(size) if not sink[j])
        shares.append(1 - left / sum(weights[i]))
        if left < 0.02 * sum(weights[i]):
            empty.append(i)
            continue
        for j in range(size):
            rescaled[i, j] = 0 if sink[j] else weights[i][j] * sum(weights[i]) / left
    return rescaled, np.mean(shares), empty


@pytest.mark.parametrize(("words", "first"), [([-1, 0, 1, 1, 2, -1], 0), ([0, 0, 1, 2, 3, 3], 1)])
def test_the_sink_is_left_out_and_rows_are_rescaled(run, words, first):
    """With special tokens, and where the first token is an ordinary word."""
    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.4), 6)
    weights[3] = [0.991, 0.001, 0.001, 0.001, 0.001, 0.005] if first == 0 else [0.5, 0.49, 0.001, 0.003, 0.003, 0.003]
    units = [{"text": str(at), "word": word, "tokens": [at]} for at, word in enumerate(words)]
    if first:  # the first word has two tokens, and both are the sink
        units = [{"text": "01", "word": 0, "tokens": [0, 1]}, *units[2:]]
        weights = np.column_stack([weights[1:, 0] + weights[1:, 1], weights[1:, 2:]])
    sink = [unit["word"] < 0 or 0 in unit["tokens"] for unit in units]
    expected, share, empty = without_sink(weights, sink)
    code = """const made = m.withoutSink(Float64Array.from(x.weights), x.units);
        return { map: [...made.map], share: made.share, empty: [...made.empty] };"""
    made = run("data/sink", code, {"weights": weights.ravel().tolist(), "units": units})
    np.testing.assert_allclose(np.reshape(made["map"], expected.shape), expected, atol=1e-12)
    assert made["share"] == pytest.approx(share)
    assert made["empty"] == empty
    assert len(empty) == 1


def test_the_head_that_rests_least(run):
    maps = np.random.default_rng(1).dirichlet(np.full(5, 0.5), (4, 5))
    maps[2, :, 0] = maps[2, :, 4] = 0
    levels = np.rint(255 * maps).astype(int).ravel().tolist()
    example = {"tokens": list("abcde"), "word_of": [-1, 0, 1, 2, -1], "maps": levels}
    assert run("data/sink", "return m.leastResting(x, 4)", example) == 2


def test_heads_that_are_shown_together(run):
    code = """const heads = new m.Heads([3, 4]);
        const shown = (several, head, chosen = []) => m.headsShown(heads, { several, chosen, head });
        return [shown("one", 2), shown("several", 5, [6, 1, 5]), shown("layer", 4), m.keyGroups([3, 4, 5, 6], 2)];"""
    expected = [[2], [1, 5, 6], [3, 4, 5, 6], [[3, 4], [5, 6]]]
    assert run("data/heads data/several", code) == expected


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_a_shell_reads_back_what_was_quoted(run, text):
    command = run("data/commands", "return m.exploreCommand(x, x)", text)
    assert shlex.split(command) == ["headatlas", "explore", text, "--text", text]


def test_the_folder_of_a_page_and_its_words_as_a_text(run):
    code = "return x.map(([protocol, pathname]) => m.folderOf({ protocol, pathname }))"
    asked = [["file:", "/home/a%20b/atlas/index.html"], ["file:", "/C:/atlas/index.html"], ["http:", "/x/"]]
    assert run("data/commands", code, asked) == ["/home/a b/atlas", "C:/atlas", None]
    words = ["He", "(", "a", "man", ")", "ran", ",", "then", "sat", "."]
    assert run("data/commands", "return m.joined(x)", words) == "He (a man) ran, then sat."


@pytest.mark.parametrize(
    ("heads", "width", "across", "pitch"),
    [([12] * 6, 700, False, 55), ([9] * 30, 1232, True, 39), ([9] * 30, 342, False, 34), ([32] * 32, 1232, False, 37)],
)
def test_maps_of_all_heads_are_large_enough_to_see(run, heads, width, across, pitch):
    code = """const made = m.thumbnailLayout(new m.Heads(x.heads), x.width);
        return [made.across, made.pitch];"""
    assert run("data/heads pictures/thumbnails", code, {"heads": heads, "width": width}) == [across, pitch]


def test_effects_are_asked_for_in_parts_and_ranked(run):
    code = """const heads = new m.Heads([2, 3, 4, 1]);
        const asked = [];
        const asking = async (live, question, path) => {
          const [first, last] = question.layers;
          asked.push([first, last, path]);
          const [start, end] = [heads.starts[first - 1], heads.starts[last - 1] + heads.perLayer[last - 1]];
          const log_probabilities = Array.from({ length: end - start }, (_, place) => x[start + place]);
          return { targets: ["a"], before: -1, log_probabilities, kl: log_probabilities };
        };
        const seen = [];
        const see = (effects) => seen.push([effects.known, m.ranked(effects)]);
        await m.measureEffects({}, heads, {}, see, asking);
        await m.measureEffects({}, heads, {}, () => false, asking);
        return [asked, seen, m.layerParts(heads, 5)];"""
    after = [-1.1, -0.5, -4, -1, -1.2, -1.3, -1, -1, -3.5, 2]
    asked, seen, parts = run("data/heads data/effects", code, after)
    assert asked == [[1, 4, "/api/effects"]] * 2
    order = sorted(range(10), key=lambda head: -abs(after[head] + 1))
    assert seen == [[10, order]]
    assert parts == [[3, 4], [1, 2]]


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("an atlas")
    address = write_page(synthetic_atlas(folder, [3, 4, 2], heads_per_key=2)).as_uri()
    one = Tab(browser)
    one.go(f"{address}#head=2-3&view=sentence&example=1&unit=tokens")
    yield one
    one.check()


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return synthetic_atlas(tmp_path_factory.mktemp("same"), [3, 4, 2]).examples[0]


def said(tab):
    return tab.page.inner_text(".verdict")


def test_several_words_are_added_up(tab, example):
    weights = example.maps[1, 2]
    for place in (4, 6):
        tab.page.click(f"main [data-side=from][data-place='{place}']")
    tab.page.mouse.move(5, 5)
    total = weights[4] + weights[6]
    strongest = int(total.argmax())
    expected = f"“{example.tokens[4]}”, “{example.tokens[6]}” together attend to {example.tokens[strongest]}"
    assert said(tab).startswith(f"{expected} {100 * total[strongest]:.0f} %")
    tab.page.click("main [data-side=from][data-place='4']")
    tab.page.mouse.move(5, 5)
    assert said(tab).startswith(f"“{example.tokens[6]}” attends to")
    tab.page.keyboard.press("Escape")


def test_several_heads_have_a_colour_each_and_the_matrix_is_their_mean(tab, example):
    tab.page.click("text=Whole layer")
    chips = tab.page.locator(".heads .chip")
    expect(chips).to_have_count(4)
    groups = tab.page.locator(".heads > span:not(.remark)")
    assert [group.split() for group in groups.all_inner_texts()] == [["2-1", "2-2"], ["2-3", "2-4"]]
    assert "shares keys and values" in tab.page.inner_text(".heads")
    strokes = tab.page.eval_on_selector_all(
        "main path[stroke-opacity]", "nodes => [...new Set(nodes.map((node) => node.getAttribute('stroke')))].length"
    )
    assert strokes == 4
    tab.page.hover("main [data-side=from][data-place='4']")
    mean = example.maps[1, :4, 4].mean(0)
    strongest = int(mean.argmax())
    assert f"attends to {example.tokens[strongest]} {100 * mean[strongest]:.0f} %" in said(tab)
    assert said(tab).endswith("(mean of 4 heads)")
    chips.nth(0).click()
    tab.page.locator(".verdict", has_text="Heads 2-2, 2-3 and 2-4").wait_for()
    assert "with=2-2%202-3%202-4" in tab.page.url
    tab.page.click(".locator [data-head='0']")  # a head that is chosen elsewhere joins
    tab.page.locator(".verdict", has_text="Heads 1-1, 2-2, 2-3 and 2-4").wait_for()
    tab.page.click("text=One head")
    tab.page.locator(".verdict", has_text="Head 1-1").wait_for()
    tab.page.click(".locator [data-head='8']")
    tab.page.click("text=Several heads")
    tab.page.click(".locator [data-head='0']")
    tab.page.locator(".verdict", has_text="Heads 1-1 and 3-2").wait_for()
    tab.page.click("text=One head")


def test_without_the_sink_the_share_is_stated(tab, example):
    weights = example.maps[0, 0]
    sink = [at == 0 or special for at, special in enumerate(example.special)]
    _, share, empty = without_sink(weights, sink)
    tab.page.check("text=without the sink")
    note = tab.page.locator(".sink-note")
    expect(note).to_contain_text(f"take {100 * share:.0f} % of this head")
    assert ("grey" in note.inner_text()) == bool(empty)
    expect(tab.page.locator("main [data-side=from]")).to_have_count(sink.count(False))
    tab.page.uncheck("text=without the sink")
    expect(note).to_have_text("")


def test_every_example_has_a_command_that_opens_it_in_the_explorer(tab):
    tab.page.click("text=Open in the explorer")
    command = shlex.split(tab.page.inner_text(".command code"))
    assert command[:2] == ["headatlas", "explore"]
    assert "an atlas" in command[2]
    assert command[3:] == ["--text", "The old man saw a little dog."]
    tab.page.click("[aria-label='Next example']")
    tab.page.click("text=Open in the explorer")
    expect(tab.page.locator(".command code")).to_contain_text("--text")


def test_the_largest_effects_stand_beside_those_of_all_heads(run):
    """Twenty heads that change a log probability by 0, 0.01, ... 0.19 nats, in whatever direction."""
    said = run(
        "data/heads pictures/effects",
        """
        const heads = new m.Heads([10, 10]);
        const after = Float64Array.from({ length: 20 }, (_, head) => -1 + (head % 2 ? 0.01 : -0.01) * head);
        const effects = { targets: ["a"], before: -1, after, kl: after.map(() => 0), known: 20 };
        const options = { colours: {}, removed: new Set(), current: 0, choose: () => {}, remove: () => {} };
        const remark = (effects, byCut) => m.effectList(effects, heads, { ...options, byCut })[1].textContent;
        const none = { ...effects, after: after.map(() => -1) };
        const part = { ...effects, known: 3 };
        return [remark(effects, false), remark(effects, true), remark(part, false), remark(none, false)];
        """,
    )
    spread = "Of 20 heads, half change the log probability by at most 0.090 nats and nine in ten by at most 0.170."
    assert said[0].startswith(f"{spread} The head at the top is the largest of 20 tries on one text")
    assert "A removed head's output is 0." in said[0]
    assert "removed" not in said[1]
    assert said[2] == "3 of 20 heads tried …"
    assert "by less than 0.001 nats and nine in ten by less than 0.001." in said[3]
