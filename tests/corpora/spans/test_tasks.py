"""Tasks that files answer: by their first lines, from trees, from mentions."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.coreference.mentions import Mention
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.spans import tasks
from headatlas.corpora.spans.spans import SpanText, Target
from headatlas.corpora.spans.targets import COREFERENT, NONE, coreference_targets, tree_targets
from headatlas.corpora.spans.tasks import choose_tasks, read_span_texts, tasks_in
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError, SettingError

SENTENCE = Sentence("0.0.0", Path("a"), 7, ("a", "dog", "ran"), (1, 2, ROOT), ("det", "nsubj", "root"), ("D", "N", "V"))
TREE = "1\ta\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t{}\n\n"
FILES = {
    "trees.conllu": (TREE.format("_"), ("pos", "dependencies", "arcs")),
    "coref.conllu": (TREE.format("Entity=(e1)"), ("pos", "dependencies", "arcs", "coreference")),
    "untagged.conllu": (TREE.replace("DET\tDT", "_\t_").format("_"), ("dependencies", "arcs")),
    "ner.conll": ("a\tO\nb\tB-x\n", ("entities",)),
    "rel.txt": ('1\t"<e1>a</e1> <e2>b</e2>"\nOther\n', ("relations",)),
    "mentions.conll": ("#begin document (a);\n1\ta\t(1)\n2\tb\t-\n#end document\n", ("coreference",)),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_can_answer(tmp_path, name):
    text, tasks = FILES[name]
    (tmp_path / name).write_text(text)
    assert tasks_in(tmp_path / name) == tasks


def test_the_sample_answers_trees_and_coreference():
    path = Path(sample_treebank())
    assert [task.name for task in choose_tasks(["all"], [[path], [path]])] == [
        "pos",
        "dependencies",
        "arcs",
        "coreference",
    ]
    text = next(read_span_texts([path], ["pos", "arcs"], 0, Counter()))
    assert list(text.targets) == ["pos", "arcs"]
    assert len(text.targets["pos"]) == len(text.words)


def test_names_that_cannot_be(tmp_path):
    for name, (text, _) in FILES.items():
        (tmp_path / name).write_text(text)
    entities, relations = [tmp_path / "ner.conll"], [tmp_path / "rel.txt"]
    with pytest.raises(SettingError, match="--task verbs is unknown"):
        choose_tasks(["verbs"], [entities, entities])
    with pytest.raises(SettingError, match="letters, digits"):
        choose_tasks(["../x"], [entities, entities])
    with pytest.raises(SettingError, match="have no task in common"):
        choose_tasks(["all"], [entities, relations])
    with pytest.raises(SettingError, match="Name it: --task NAME"):
        choose_tasks(["all"], [[tmp_path / "a.jsonl"], entities])
    lines = tmp_path / "a.jsonl"
    assert choose_tasks(["verbs"], [[lines], [lines]])[0].name == "verbs"
    lines.write_text("")
    with pytest.raises(CorpusError, match=r"a\.jsonl: has no text for the task verbs"):
        list(read_span_texts([lines], ["verbs"], 0, Counter()))


@pytest.mark.parametrize("text", ["a text like any other.\n", ""])
def test_a_file_of_no_known_format(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(CorpusError, match=r"a\.txt.*: is in none of the formats of span tasks"):
        tasks_in(tmp_path / "a.txt")


def test_targets_of_a_tree():
    found = tree_targets(SENTENCE, ["pos", "dependencies", "arcs"], seed=0)
    assert [(one.spans, one.labels) for one in found["pos"]] == [
        (((0, 1),), ("D",)),
        (((1, 2),), ("N",)),
        (((2, 3),), ("V",)),
    ]
    assert [(one.spans, one.labels) for one in found["dependencies"]] == [
        (((0, 1), (1, 2)), ("det",)),
        (((1, 2), (2, 3)), ("nsubj",)),
    ]
    assert [(one.spans, one.labels) for one in found["arcs"]] == [
        (((0, 1), (1, 2)), ("arc",)),
        (((0, 1), (2, 3)), ("none",)),
        (((1, 2), (2, 3)), ("arc",)),
        (((1, 2), (0, 1)), ("none",)),
    ]


def test_a_word_without_part_of_speech_is_named():
    sentence = Sentence("0.0.0", Path("a"), 7, ("a",), (ROOT,), ("root",), ("",))
    with pytest.raises(CorpusError, match=r"a, line 7: the word 'a'.*no part of speech"):
        tree_targets(sentence, ["pos"], seed=0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3), st.sampled_from("abc")), max_size=9), st.integers(0, 3))
def test_pairs_of_mentions(found, seed):
    spans = sorted({(start, start + size): entity for start, size, entity in found}.items())
    mentions = [Mention(start, end, start, entity, "nominal") for (start, end), entity in spans]
    entity_of = {(mention.start, mention.end): mention.entity for mention in mentions}
    targets = list(coreference_targets(mentions, "0.0.0", seed))
    assert targets == list(coreference_targets(mentions, "0.0.0", seed))
    with_antecedent = 0
    for mention in mentions:
        before = [other for other in mentions if other.end <= mention.start]
        same = [other for other in before if other.entity == mention.entity]
        mine = [target for target in targets if target.spans[0] == (mention.start, mention.end)]
        if not same:
            assert mine == []
            continue
        with_antecedent += 1
        assert mine[0].labels == (COREFERENT,)
        assert mine[0].spans[1][0] == max(other.start for other in same)
        assert len(mine) == 1 + any(other.entity != mention.entity for other in before)
        assert all(target.labels == (NONE,) and entity_of[target.spans[1]] != mention.entity for target in mine[1:])
    assert sum(target.labels == (COREFERENT,) for target in targets) == with_antecedent


def test_an_added_task_has_a_format_of_its_own(tmp_path, monkeypatch):
    """The first word of every file is its target."""

    def read(paths, left_out):
        left_out["all_but_the_first"] += len(paths)
        for path in paths:
            words = tuple((path / "words").read_text().split())
            yield SpanText(path.name, path, words, {"first": (Target(((0, 1),), ("yes",), None),)})

    (tmp_path / "words").write_text("a dog")
    monkeypatch.setattr(tasks, "ADDED", {})
    with pytest.raises(CorpusError, match=r"is in none of the formats of span tasks: .*, JSON lines\."):
        tasks_in(tmp_path)
    with pytest.raises(SettingError, match=r"--task first is unknown\. Use one of: .*, relations, all;"):
        choose_tasks(["first"], [[tmp_path]])
    added = tasks.SpanTask("first", files="folders of words", read=read, holds=Path.is_dir)
    monkeypatch.setattr(tasks, "ADDED", {"first": added})
    assert choose_tasks(["all"], [[tmp_path], [tmp_path]]) == [added]
    left_out = Counter()
    (text,) = read_span_texts([tmp_path], ["first"], 0, left_out)
    assert (text.words, left_out) == (("a", "dog"), {"all_but_the_first": 1})
