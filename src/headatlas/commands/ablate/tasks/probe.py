"""Parsing by a probe: how well does the attention probe find the heads of words when a head is gone? (paper, section 5)

The probe is trained here on the attention of the whole model over one treebank (see `probes.attention`) and scored on
another. A removed head is gone in both ways: later layers do without its output, and the probe reads zeros for its map.
Scores are those of sentences, so their means are over sentences and not over words: `uas`, the share of words that
get their head, punctuation aside, and the `log_likelihood` of the true heads, mean over all words, in nats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.commands.ablate.tasks import NEEDS
from headatlas.commands.ablate.tasks.token_prediction import means_by
from headatlas.commands.extract.options import extract
from headatlas.corpora.files import refuse_same_files
from headatlas.corpora.sampling import draw
from headatlas.corpora.treebanks.label_sets import labels_of
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.segments import document_of
from headatlas.encoding.word_segments import ParsedSegment, parsed_segments
from headatlas.errors import CorpusError, ModelError, SettingError
from headatlas.models.attention import observing
from headatlas.models.gates import Gates
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.probes.attention import AttentionProbe
from headatlas.probes.batches import IGNORED, ProbeBatch, Sentences
from headatlas.probes.training import TrainingSettings, fit, hold_out
from headatlas.progress import moved, stage
from headatlas.statistics.words import word_attention_torch
from headatlas.store.stored_model import stored_sentences
from headatlas.store.word_maps import unit_index
from headatlas.wording import counted


class _Known(NamedTuple):
    """What is known of the treebank that a probe was trained on."""

    relations: frozenset[str]
    punctuation: Collection[str]
    about: dict[str, Any]  # for the manifest


class ProbeParsing(Task):
    """Heads of words, found by a trained probe in the model's attention."""

    name = "probe"
    needs = NEEDS[name]
    measures = ("uas", "log_likelihood")
    like_loss = "log_likelihood"
    _known: _Known

    @classmethod
    def read(cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, scratch: Path) -> ProbeParsing:
        """Train a probe on the whole model's attention over --treebank, and make the task from --eval."""
        if model.is_encoder_decoder:  # the probe reads the attention of all layers, so there must be one kind of it
            raise ModelError(f"The task probe needs an encoder or a decoder, but {model.name} has both.")
        refuse_same_files({"train": files["treebank"], "eval": files["eval"]}, "Give another file with --eval.")
        store = extract(
            model,
            treebank=files["treebank"],
            out=scratch / "maps",
            max_tokens=options.max_tokens,
            batch_tokens=options.batch_tokens,
            format={"treebank": options.format_of("treebank")},
        )
        sentences = Sentences(store, None, model.device)
        train, held_out = hold_out(len(sentences), options.seed)
        heads = store.index.shape.total
        with stage(f"Training the probe: {counted(len(train), 'sentence')}"):
            probe, fitted = fit(
                lambda: AttentionProbe(heads), sentences, train, held_out, TrainingSettings(), options.seed, tick=moved
            )
        known = _Known(
            frozenset(name for example in store.examples for name in example.relations or ()),
            labels_of(stored_sentences(store)).punct,
            {"trained_on": len(train), "epochs": fitted.epochs, "held_out_loss": float(fitted.held_out[0])},
        )
        return cls._scored_on(model, files["eval"], probe, known, options)

    def again(self, files: Mapping[str, list[Path]], options: AblateOptions, _scratch: Path) -> ProbeParsing:
        """Score the same probe on other sentences."""
        return self._scored_on(self.model, files["eval"], self._probe, self._known, options)

    @classmethod
    def _scored_on(
        cls, model: Model, files: Sequence[Path], probe: AttentionProbe, known: _Known, options: AblateOptions
    ) -> ProbeParsing:
        left_out: Counter[str] = Counter()
        trees = read_treebank(files, options.format_of("treebank"), left_out)
        encoded = parsed_segments(trees, model.tokenizer, max_tokens=options.max_tokens)
        if not known.relations.intersection(encoded.relations):
            raise SettingError("--treebank and --eval have no relation in common. Give two parts of one treebank.")
        segments = draw(encoded.segments, options.examples, options.seed)
        task = cls(model, segments, encoded.relations, known.punctuation, probe, batch_tokens=options.batch_tokens)
        task._known = known
        task.left_out = dict(left_out) | encoded.left_out | task.left_out
        task.about |= {"available": len(encoded.segments), **known.about}
        return task

    def __init__(
        self,
        model: Model,
        segments: Sequence[ParsedSegment],
        relations: Sequence[str],
        punctuation: Collection[str],
        probe: AttentionProbe,
        *,
        batch_tokens: int,
    ) -> None:
        self._probe = probe.to(model.device).eval().requires_grad_(False)
        self._gates: Gates | None = None
        self._whole_maps: list[Tensor] = []  # between words, of each layer of the latest pass with every head
        passed_over = np.isin(relations, sorted(punctuation))
        scored = [segment for segment in segments if not passed_over[segment.relations].all()]
        if not scored:
            raise CorpusError("No sentence to score the probe on has a word that is not punctuation.")
        batches = []
        for indices in plan_batches(scored, batch_tokens):
            batch = make_batch([scored[index] for index in indices], model.kinds, model.pad_id)
            units = unit_index(batch)
            heads = torch.full((len(indices), units.words), IGNORED)
            counted = torch.zeros(heads.shape, dtype=torch.bool)
            for row, segment in enumerate(scored[index] for index in indices):
                heads[row, : segment.size] = torch.from_numpy(
                    np.where(segment.heads == ROOT, units.words, segment.heads).astype(np.int64)
                )
                counted[row, : segment.size] = torch.from_numpy(~passed_over[segment.relations])
            targets = {"heads": heads, "counted": counted, "units": units.index}
            ids = tuple(scored[index].id for index in indices)
            documents = tuple(document_of(scored[index]) for index in indices)
            batches.append(ExampleBatch(ids, model.inputs(batch), torch.arange(len(ids)), targets, documents))
        super().__init__(model, batches, sentence_of_punctuation=len(segments) - len(scored))

    @contextmanager
    def removing(self, gates: Gates, stack: Stack) -> Iterator[None]:
        """Within this context the probe reads each map times its head's gate, too."""
        with self.replaying(gates), super().removing(gates, stack):
            yield

    @contextmanager
    def replaying(self, gates: Gates) -> Iterator[None]:
        """Within this context the probe reads each map times its head's gate, those before from the latest pass."""
        self._gates = gates
        try:
            yield
        finally:
            self._gates = None

    def tokens_read(self, examples: ExampleBatch) -> Tensor:
        """None: the last that is read are the maps of the last layer."""
        return torch.zeros_like(examples.inputs["input_ids"], dtype=torch.bool)

    def losses(self, examples: ExampleBatch) -> Tensor:
        """Mean negative log-likelihood of each sentence's true heads: [E]."""
        return -self._likelihoods(examples, self._log_probabilities(examples))

    def scores(self, examples: ExampleBatch) -> Tensor:
        """Share of words with their true head as the likeliest, and mean log-likelihood of all heads: [E, 2]."""
        log_probabilities = self._log_probabilities(examples)
        counted = examples.targets["counted"]
        right = (log_probabilities.argmax(-1) == examples.targets["heads"])[counted].to(log_probabilities.dtype)
        shares = means_by(right, torch.nonzero(counted)[:, 0], len(examples))
        return torch.stack([shares, self._likelihoods(examples, log_probabilities)], -1)

    def _likelihoods(self, examples: ExampleBatch, log_probabilities: Tensor) -> Tensor:
        heads = examples.targets["heads"]
        words = heads != IGNORED
        of_true = log_probabilities.gather(-1, heads.clamp_min(0)[..., None])[..., 0]
        return means_by(of_true[words], torch.nonzero(words)[:, 0], len(examples))

    def _log_probabilities(self, examples: ExampleBatch) -> Tensor:
        """Over the other words and ROOT: [E, W, W + 1]."""
        heads, units = examples.targets["heads"], examples.targets["units"]
        words = heads.shape[1]
        seen: list[Tensor] = []

        def see(_module: torch.nn.Module, weights: Tensor, _mask: Tensor | None) -> None:
            seen.append(word_attention_torch(weights, units, words + 2, "mean"))  # [CLS] and [SEP] are the last units

        with observing(self.model.network, see):
            self.model.network.base_model(**examples.inputs)
        if self._gates is None:
            self._whole_maps = layers = seen
        else:  # a replay does not attend in the layers before
            before = self._whole_maps[: self.model.shapes[self.model.default_stack].layers - len(seen)]
            layers = [maps.repeat(len(examples) // len(maps), 1, 1, 1) for maps in before] + seen
            layers = [self._gates.gated_maps(layer, maps) for layer, maps in enumerate(layers)]
        maps = torch.cat(layers, 1).permute(0, 2, 3, 1).float()  # [E, W + 2, W + 2, A]
        special = torch.cat([maps[:, :words, words:], maps[:, words:, :words].transpose(1, 2)], 2)
        sizes = (heads != IGNORED).sum(1)
        between = maps[:, :words, :words]
        batch = ProbeBatch(list(range(len(examples))), sizes, heads, torch.zeros_like(heads), between, special, None)
        return self._probe.log_probabilities(batch)
