"""Training a model end to end to tag keyphrases, then asking which of its heads that needs.

The network gets a new linear head over its words' first tokens and learns the tags B, I and O. The tagger is saved as a
model that every other command loads. On training documents held back, `ablate` removes its heads one by one and in
growing numbers, and `prune` cuts the least important tenth out; both taggers are then scored on other documents.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import AutoModelForTokenClassification

from headatlas.commands.ablate.options import ablate
from headatlas.commands.ablate.passes import plain_scores
from headatlas.commands.fit_mlm.training import warm_up
from headatlas.commands.keyphrases.options import KeyphraseOptions
from headatlas.commands.keyphrases.phrases import TAGS
from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.commands.keyphrases.segments import KeyphraseSegment, keyphrase_segments
from headatlas.commands.keyphrases.tables import KEYPHRASE_TAGGERS
from headatlas.commands.keyphrases.task import KeyphraseTagging, word_tags
from headatlas.commands.prune.options import prune
from headatlas.encoding.batches import Batch, make_batch, plan_batches
from headatlas.encoding.masking import IGNORED
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import CorpusError, ModelError
from headatlas.files import make_folder, others_write, write_text
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.models.observing import quiet_transformers
from headatlas.progress import stage
from headatlas.statistics.paired import bootstrap_means

TAGGER, ABLATION, PRUNED, HELD_BACK = "tagger", "ablation", "pruned", "held_back.jsonl"
HELD_SHARE, MOST_HELD = 5, 100  # one training document in five is held back, at most a hundred
SHARE_PRUNED = 0.1
TUNING_TOKENS = 1024  # per training step
RANDOM_ORDERS = 2  # of heads removed, to compare the others with
WARMING = 0.1  # share of the steps in which the rate rises
WEIGHT_DECAY, LONGEST_STEP = 0.01, 1.0


@dataclass(frozen=True)
class Tuned:
    """A tagger that is trained and saved: the number of documents it has learned from, and of those held back."""

    trained_on: int
    held_back: int


def fine_tune(
    model: Model,
    segments: Sequence[KeyphraseSegment],
    folder: Path,
    options: KeyphraseOptions,
    tick: Callable[[], None],
) -> None:
    """Train a tagger on the segments, starting from the model's weights, and save it. tick: called after each batch."""
    network = new_tagger(model, options.seed)
    network.train()
    plan = plan_batches(segments, TUNING_TOKENS)
    steps = options.epochs * len(plan)
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warm_up((step + 0.5) / steps, WARMING))
    total = options.epochs * sum(map(len, segments))
    with stage(f"Fine-tuning: {len(segments):,} windows", total) as bar, torch.random.fork_rng():
        torch.manual_seed(options.seed)
        for batch in _batches(model, segments, plan, options):
            labels = word_tags(batch).to(model.device)
            counted = labels != IGNORED
            logits = network(**model.inputs(batch)).logits
            loss = cross_entropy(logits[counted].float(), labels[counted])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), LONGEST_STEP)
            optimizer.step()
            schedule.step()
            bar.advance(batch.tokens, f"loss {loss.item():.3f}")
            tick()
    make_folder(folder)
    with quiet_transformers(), others_write(folder):
        network.eval().save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)


def new_tagger(model: Model, seed: int) -> Any:
    """The model's network with a new head for the tags."""
    config = type(model.network.config).from_dict(model.network.config.to_dict())
    config.num_labels = len(TAGS)
    config.id2label = dict(enumerate(TAGS))
    config.label2id = {tag: number for number, tag in enumerate(TAGS)}
    try:
        with torch.random.fork_rng(), quiet_transformers():
            torch.manual_seed(seed)
            network = AutoModelForTokenClassification.from_config(config, attn_implementation="eager")
    except ValueError as error:
        raise ModelError(f"{model.name}: transformers has no tagger for {type(model.network).__name__}.") from error
    loaded = network.base_model.load_state_dict(model.network.base_model.state_dict(), strict=False)
    if loaded.missing_keys:
        raise ModelError(f"{model.name}: its tagger has weights that the model lacks: {loaded.missing_keys[0]}.")
    return network.to(model.device, model.dtype)


def _batches(
    model: Model, segments: Sequence[KeyphraseSegment], plan: Sequence[Sequence[int]], options: KeyphraseOptions
) -> Iterator[Batch]:
    """The batches of every epoch, each epoch in its own order."""
    for epoch in range(options.epochs):
        order = list(plan)
        random.Random(f"{options.seed} {epoch}").shuffle(order)
        for indices in order:
            yield make_batch([segments[index] for index in indices], model.kinds, model.pad_id).to(model.device)


def tune_and_question(
    model: Model,
    train: Sequence[KeyphraseDocument],
    data: Sequence[KeyphraseDocument],
    options: KeyphraseOptions,
    max_tokens: int,
    run: RunFolder,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Train on most training documents, remove heads on the rest of them, and score all on `data`: table and manifest.

    The documents held back lie in the folder, and the results of `ablate` and `prune` in folders of their own.
    """
    folder, tagger = run.folder, run.folder / TAGGER
    learned, held_back = split(train, options.seed)

    def tune() -> Tuned:
        write_text(folder / HELD_BACK, "".join(map(json_line, held_back)))
        segments = keyphrase_segments(learned, model.tokenizer, max_tokens=max_tokens).segments
        fine_tune(model, segments, tagger, options, run.check_stop)
        return Tuned(len(learned), len(held_back))

    tuned = run.record_once("tagger", Tuned, tune)
    shared: dict[str, Any] = {"device": str(model.device)}
    ablation = ablate(
        str(tagger),
        task=KeyphraseTagging.name,
        data=folder / HELD_BACK,
        out=folder / ABLATION,
        examples=len(held_back),
        random_orders=RANDOM_ORDERS,
        max_tokens=max_tokens,
        batch_tokens=options.batch_tokens,
        bootstrap=options.bootstrap,
        seed=options.seed,
        **shared,
    )
    pruned = prune(
        str(tagger), by="importance", share=SHARE_PRUNED, ablation=folder / ABLATION, out=folder / PRUNED, **shared
    )
    scored = keyphrase_segments(data, model.tokenizer, max_tokens=max_tokens).segments
    table = _taggers_table({"whole": tagger, "pruned": folder / PRUNED}, scored, str(model.device), options)
    about = {"heads_pruned": pruned.manifest["removed"]}
    return table, vars(tuned) | about | {"on_held_back": ablation.manifest["summary"][KeyphraseTagging.name]}


def split(documents: Sequence[KeyphraseDocument], seed: int) -> tuple[list[KeyphraseDocument], list[KeyphraseDocument]]:
    """Documents to learn from, and some to hold back, sampled at random, at least one of each."""
    if len(documents) < 2:
        raise CorpusError("--train needs at least two documents: one to learn from, one to hold back.")
    held_back = min(MOST_HELD, max(1, len(documents) // HELD_SHARE))
    held = set(random.Random(f"{seed} held back").sample(range(len(documents)), held_back))
    learned = [document for place, document in enumerate(documents) if place not in held]
    return learned, [documents[place] for place in sorted(held)]


def json_line(document: KeyphraseDocument) -> str:
    """A document as the reader of JSON lines takes it."""
    return json.dumps({"text": document.text, "keyphrases": list(document.keyphrases)}, ensure_ascii=False) + "\n"


def _taggers_table(
    taggers: Mapping[str, Path], segments: Sequence[KeyphraseSegment], device: str, options: KeyphraseOptions
) -> pd.DataFrame:
    """Score each model on the same documents."""
    rows = []
    for name, folder in taggers.items():
        model = load_model(str(folder), device=device, task_head="token-classification")
        task = KeyphraseTagging(model, segments, batch_tokens=options.batch_tokens)
        scores = plain_scores(task)
        low, high = bootstrap_means(scores[:, :1], task.ids, seed=options.seed, resamplings=options.bootstrap)
        f1, likelihood = scores.mean(0).tolist()
        heads = model.shapes[model.default_stack].total
        rows.append((name, heads, f1, low.item(), high.item(), likelihood, len(scores)))
    return pd.DataFrame(rows, columns=KEYPHRASE_TAGGERS.names)
