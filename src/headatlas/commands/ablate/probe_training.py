"""The probe that is scored while heads are removed: trained on the whole model's attention over a treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from headatlas.commands.ablate.probe import ProbeParsing, require_one_stack
from headatlas.commands.ablate.sampling import sample_of
from headatlas.commands.ablate.settings import AblationSettings
from headatlas.commands.extract.options import extract
from headatlas.corpora.files import refuse_same_files
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.word_segments import parsed_segments
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.probes.attention import AttentionProbe
from headatlas.probes.batches import Sentences
from headatlas.probes.training import TrainingSettings, fit, hold_out
from headatlas.store.examples import label_set_of


def probe_parsing(
    model: Model, files: Mapping[str, list[Path]], settings: AblationSettings, maps: Path, progress: bool
) -> ProbeParsing:
    """Train on `treebank`, score on `eval`. maps: folder for the maps that are trained on."""
    require_one_stack(model)
    parts = {"train": files["treebank"], "eval": files["eval"]}
    refuse_same_files(parts, "Give another file with --eval.")
    store = extract(
        model,
        treebank=files["treebank"],
        out=maps,
        max_tokens=settings.max_tokens,
        batch_tokens=settings.batch_tokens,
        format={"treebank": settings.treebank_format},
        progress=progress,
    )
    labels, sentences = label_set_of(store.examples), Sentences(store, None, model.device)
    train, held_out = hold_out(len(sentences), settings.seed)
    heads = store.index.shape.total
    probe, fitted = fit(lambda: AttentionProbe(heads), sentences, train, held_out, TrainingSettings(), settings.seed)
    left_out: Counter[str] = Counter()
    trees = read_treebank(files["eval"], settings.treebank_format, left_out)
    sample = parsed_segments(trees, model.tokenizer, max_tokens=settings.max_tokens)
    if not set(sample.relations) & {name for example in store.examples for name in example.relations or ()}:
        raise SettingError("--treebank and --eval have no relation in common. Give two parts of one treebank.")
    task = ProbeParsing(
        model,
        sample_of(sample.segments, settings),
        sample.relations,
        labels.punct,
        probe,
        batch_tokens=settings.batch_tokens,
    )
    task.left_out = dict(left_out) | sample.left_out | task.left_out
    task.about |= {
        "available": len(sample.segments),
        "trained_on": len(train),
        "epochs": fitted.epochs,
        "held_out_loss": float(fitted.held_out[0]),
    }
    return task
