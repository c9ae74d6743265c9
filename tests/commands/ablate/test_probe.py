"""Parsing by a probe with heads removed: against loops over words, finite differences, and end to end."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from headatlas.commands.ablate.importance import gate_gradients
from headatlas.commands.ablate.options import ablate
from headatlas.commands.ablate.passes import HeadRemoval, find_replacement
from headatlas.commands.ablate.tasks.probe import ProbeParsing
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.word_segments import parsed_segments
from headatlas.errors import ModelError, SettingError
from headatlas.models.gates import Gates, gates_without
from headatlas.probes.attention import AttentionProbe
from headatlas.store.word_maps import observe_words

CPU = torch.device("cpu")
QUICK = {"max_tokens": 64, "bootstrap": 20, "steps": 2, "random_orders": 1, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Documents of the sample to train on, and others to score on."""
    documents = sample_treebank().read_text(encoding="utf-8").split("# newdoc")
    folder = tmp_path_factory.mktemp("parts")
    for name, chosen in (("train", documents[1:6]), ("eval", documents[6:8])):
        (folder / f"{name}.conllu").write_text("".join(f"# newdoc{text}" for text in chosen), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def sample(load_tiny, parts):
    trees = list(read_treebank([parts / "eval.conllu"], "auto", Counter()))
    found = parsed_segments(trees, load_tiny("bert").tokenizer, max_tokens=40)
    return found.relations, [segment for segment in found.segments if segment.size > 1][:6]


@pytest.fixture(scope="module")
def task(load_tiny, sample):
    model = load_tiny("bert")
    torch.manual_seed(0)
    probe = AttentionProbe(8)
    with torch.no_grad():
        probe.weight.normal_(std=3)
        probe.root.normal_(std=3)
    return ProbeParsing(model, sample[1], sample[0], {"punct"}, probe, batch_tokens=100)


def by_hand(task, relations, segments, removed):
    """UAS and mean log-likelihood of each sentence, a pair of words at a time."""
    model, probe = task.model, task._probe
    gates = gates_without(removed, model.shapes["encoder"], "bert", CPU)
    found = {}
    with model.gated(gates):
        for sentence in observe_words(model, segments, relations):
            names, heads = sentence.relations, sentence.heads
            maps, to, of = (np.array(part) for part in (sentence.maps, sentence.to_special, sentence.from_special))
            for layer, head in removed:
                for part in (maps, to, of):
                    part[(layer - 1) * 4 + head - 1] = 0
            size, right, likelihood = len(heads), [], []
            for word in range(size):
                scores = np.full(size + 1, -np.inf)
                for other in range(size):
                    if other != word:
                        pair = np.concatenate([maps[:, word, other], maps[:, other, word]])
                        scores[other] = pair @ probe.weight.double().numpy()
                special = [to[:, word, 0], to[:, word, 1], of[:, 0, word], of[:, 1, word]]
                scores[size] = (np.stack(special) * probe.root.double().numpy()).sum()
                true = size if heads[word] == ROOT else heads[word]
                likelihood.append(scores[true] - np.logaddexp.reduce(scores))
                if names[word] != "punct":
                    right.append(scores.argmax() == true)
            found[sentence.id] = [np.mean(right), np.mean(likelihood)]
    return np.array([found[name] for name in task.ids])


def test_scores_are_those_of_loops_over_words(task, sample):
    heads = [(0, 1), (1, 3)]
    removal = HeadRemoval(task, "encoder", find_replacement(task, "zero", "encoder", 0), 4096)
    plain, without = removal.scores(heads)
    assert plain == pytest.approx(by_hand(task, *sample, []), abs=1e-4)
    for place, (layer, head) in enumerate(heads):
        assert without[:, place] == pytest.approx(by_hand(task, *sample, [(layer + 1, head + 1)]), abs=1e-4)
    assert abs(without - plain[:, None]).max() > 1e-2
    assert removal.why_whole is None


def test_gradients_are_finite_differences(task):
    examples, shape, step = task.batches[0], task.model.shapes["encoder"], 1e-2
    found = gate_gradients(task, examples, "encoder")
    for layer, head in ((0, 0), (1, 2)):
        sides = []
        for change in (step, -step):
            gates = torch.ones(2, 4)
            gates[layer, head] += change
            with torch.no_grad(), task.removing(Gates(gates, None, shape), "encoder"):
                sides.append(task.losses(examples).double().numpy())
        assert found[:, layer, head] == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=0.02, abs=5e-4)


def test_from_treebanks_to_tables(tiny_folder, parts, tmp_path):
    found = ablate(
        str(tiny_folder("bert")),
        task="probe",
        treebank=parts / "train.conllu",
        eval=parts / "eval.conllu",
        examples=10,
        out=tmp_path / "out",
        **QUICK,
    )
    assert set(found.tables) == {"ablation", "importance", "removal_curve", "removable_heads"}
    assert set(found.tables["ablation"]["measure"]) == {"uas", "log_likelihood"}
    about = found.manifest["corpora"]["probe"]
    assert about["examples"] == 10
    assert about["trained_on"] >= 20
    assert [record["file"].rpartition("/")[2] for record in about["files"]] == ["eval.conllu", "train.conllu"]
    curve = found.tables["removal_curve"].query("measure == 'uas' and share == 1.0")
    assert curve["score"].nunique() == 1, "without any head the probe sees nothing in any order"
    assert not (found.folder / "state").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"eval": "eval.conllu"}, "cannot run without --treebank"),
        ({"treebank": "train.conllu"}, "cannot run without --eval"),
        ({"treebank": "eval.conllu", "eval": "eval.conllu"}, "is also a training file"),
    ],
)
def test_treebanks_that_do_not_serve(given, said, tiny_folder, parts, tmp_path):
    with pytest.raises(SettingError, match=said):
        ablate(
            str(tiny_folder("bert")),
            task="probe",
            out=tmp_path,
            **{name: parts / file for name, file in given.items()},
            **QUICK,
        )


def test_encoder_decoders_are_refused(tiny_folder, parts, tmp_path):
    both = {"treebank": parts / "train.conllu", "eval": parts / "eval.conllu"}
    with pytest.raises(ModelError, match="needs an encoder or a decoder"):
        ablate(str(tiny_folder("bart")), task="probe", out=tmp_path, **both, **QUICK)
