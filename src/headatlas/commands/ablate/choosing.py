"""From files to tasks: reading, sampling and, for classification, training the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from headatlas.commands.ablate.classification import Classification, LinearHead, split_for_training, train_head
from headatlas.commands.ablate.keyphrases import KeyphraseTagging
from headatlas.commands.ablate.minimal_pairs import MinimalPairs
from headatlas.commands.ablate.probe_training import probe_parsing
from headatlas.commands.ablate.sampling import sample_of
from headatlas.commands.ablate.settings import AblationSettings
from headatlas.commands.ablate.task import Task
from headatlas.commands.ablate.token_prediction import read_token_prediction
from headatlas.commands.ablate.translation import Translation
from headatlas.corpora.keyphrases.read import read_keyphrases
from headatlas.corpora.labelled import LabelledText, read_labelled
from headatlas.corpora.minimal_pairs import read_minimal_pairs
from headatlas.corpora.text import read_text
from headatlas.corpora.translations import read_translations
from headatlas.encoding.keyphrase_segments import keyphrase_segments
from headatlas.errors import SettingError
from headatlas.models.model import Model


def make_task(
    name: str, model: Model, files: Mapping[str, list[Path]], settings: AblationSettings, scratch: Path, progress: bool
) -> Task:
    """A task by its name, on the files of its option. scratch: folder for what training leaves behind."""
    if name == "probe":
        return probe_parsing(model, files, settings, scratch / "maps", progress)
    if name == "classification":
        return _classification(model, files, settings)
    if name == "minimal-pairs":
        pairs = sample_of(read_minimal_pairs(files["pairs"], settings.sets), settings)
        return MinimalPairs(model, pairs, max_tokens=settings.max_tokens, batch_tokens=settings.batch_tokens)
    if name == "keyphrases":
        return _keyphrases(model, files["data"], settings)
    if name == "translation":
        texts = sample_of(read_translations(files["data"], settings.columns), settings)
        return Translation(model, texts, max_tokens=settings.max_tokens, batch_tokens=settings.batch_tokens)
    return read_token_prediction(
        name,
        model,
        read_text(files["text"], settings.text_format),
        examples=settings.examples,
        max_tokens=settings.max_tokens,
        batch_tokens=settings.batch_tokens,
        seed=settings.seed,
    )


def _keyphrases(model: Model, files: list[Path], settings: AblationSettings) -> Task:
    left_out: Counter[str] = Counter()
    documents = list(read_keyphrases(files, settings.keyphrase_format, left_out))
    chosen = sample_of(documents, settings)
    sample = keyphrase_segments(chosen, model.tokenizer, max_tokens=settings.max_tokens)
    task = KeyphraseTagging(model, sample.segments, batch_tokens=settings.batch_tokens)
    task.left_out = dict(left_out) | sample.left_out | task.left_out
    task.about |= {"available": len(documents)}
    return task


def _classification(model: Model, files: Mapping[str, list[Path]], settings: AblationSettings) -> Task:
    texts = read_labelled(files["data"], settings.columns)
    own = model.task_head == "classification"
    if "train" in files and own:
        raise SettingError(f"--train is given, but {model.name} has a classifier of its own.")
    training: list[LabelledText] = []
    if "train" in files:
        training = read_labelled(files["train"], settings.columns)
    elif not own:
        training, texts = split_for_training(texts, settings.train_share, settings.seed)
    head: LinearHead | None = None
    if training:
        head = train_head(
            model,
            training,
            pooling=settings.pooling,
            max_tokens=settings.max_tokens,
            batch_tokens=settings.batch_tokens,
        )
    chosen = sample_of(texts, settings)
    task = Classification(model, chosen, max_tokens=settings.max_tokens, batch_tokens=settings.batch_tokens, head=head)
    task.about |= {"trained_on": len(training), "available": len(texts)}
    return task
