"""What a survey observes: a model that reads corpora, or attention maps that were stored.

Everything is chosen and checked here, before anything long begins.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from headatlas.choices import Stack
from headatlas.commands.survey.options import SurveyOptions
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.sample import sample_corpora
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.unknown import UnknownCounts, count_unknown
from headatlas.encoding.word_segments import FITTING_TOKENS
from headatlas.engine.corpora import KINDS, Corpus
from headatlas.engine.job import Failures, attempt, describe_failure
from headatlas.errors import PluginError, SettingError
from headatlas.files import sha256
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, Observable
from headatlas.results.tables import TABLES
from headatlas.store.index import INDEX
from headatlas.store.reading import Store, open_store
from headatlas.store.stored_model import OWN_KINDS, StoredMaps, stored_unknown
from headatlas.studies import STUDIES
from headatlas.studies.study import Setup, Study

NO_HEAD = (
    "{name} has no {kind} head, so the loss that figure 3 differentiates cannot be computed. Survey a checkpoint saved "
    "with its head (for BERT: bert-base-uncased and not a sentence encoder or classifier made from it){fit}."
)
LOSS = "gradients"  # what a study watches that needs a loss


class Source(ABC):
    """A model with its corpora, or their stored maps.

    Attributes:
        observed: What shows its maps to the studies.
        stack: The attention that is surveyed.
        token_kinds: The kind of every token.
        identity: What determines the results besides the options.
        about: The model, for the manifest.
        files: The files of each corpus, for the manifest.
        chosen: The studies to run, by name, not yet configured.
        skipped: The studies that cannot run, and why.
    """

    observed: Observable
    stack: Stack
    token_kinds: KindTable
    identity: dict[str, Any]
    about: dict[str, Any]
    files: dict[str, list[dict[str, Any]]]
    chosen: dict[str, Study]
    skipped: dict[str, str]

    @abstractmethod
    def read(self, kind: str) -> Corpus:
        """Read and encode one of the corpora."""

    @abstractmethod
    def count_unknown(self, corpus: Corpus) -> UnknownCounts:
        """Count the tokens that the tokenizer does not know."""


class ModelSource(Source):
    """A model, and the files that it reads."""

    observed: Model

    def __init__(self, options: SurveyOptions) -> None:
        """Find the files, load the model and choose the studies."""
        self._options = options
        wanted = choose_by_name(options)
        self._paths = _sample_for(wanted) if options.on_sample else _find_corpora(options)
        _check_corpora(wanted, self._paths)
        choose_device(options.placed_on)
        self.files = {kind: describe_files(paths) for kind, paths in self._paths.items()}
        self.observed = options.load(options.model or "", seed=options.seed, random_weights=options.random_weights)
        self.stack = self.observed.choose_stack(options.attention)
        check_length(options.max_tokens, self.observed.network, self.observed.tokenizer, self.observed.name)
        self.token_kinds = self.observed.kinds
        reasons = dict.fromkeys(set(KINDS) - set(self._paths), "")
        self.chosen, self.skipped = choose_studies(wanted, reasons, why_no_gradients(self.observed))
        hashes = {kind: [record["sha256"] for record in records] for kind, records in self.files.items()}
        self.identity = model_identity(self.observed, self.stack) | {"corpora": hashes, "studies": list(self.chosen)}
        self.identity |= code_of_studies(options)
        self.about = describe_model(self.observed, self.stack)

    def read(self, kind: str) -> Corpus:
        return KINDS[kind]().read(self._paths[kind], self.observed.tokenizer, self._options.reading)

    def count_unknown(self, corpus: Corpus) -> UnknownCounts:
        return count_unknown(corpus.segments, self.observed.tokenizer)

    def load_control(self) -> Model:
        """Load the same model with random weights."""
        return self._options.load(
            self._options.model or "", seed=self._options.seed, random_weights=self._options.control
        )


class StoreSource(Source):
    """Stored maps, which take the place of a model and of all its corpora."""

    def __init__(self, options: SurveyOptions) -> None:
        """Open the store and choose the studies that it can answer."""
        self._options = options
        folder = Path(options.maps or "")
        device = choose_device(options.placed_on)
        self.store = open_store(folder)
        if self.store.level == "words" and options.as_published:
            raise SettingError(
                "--as-published needs the attention from the first token of each word, but these maps are between "
                "words. Extract maps with --level tokens, or remove --as-published."
            )
        self.observed = StoredMaps(self.store, device)
        self.stack = self.observed.default_stack
        self.token_kinds = OWN_KINDS
        records = [record for about in self.store.index.corpora.values() for record in about["files"]]
        self.files = dict.fromkeys(KINDS, records)
        reasons = {kind: reason for kind in KINDS if (reason := _why_not_stored(kind, self.store)) is not None}
        no_loss = "stored maps have no loss to differentiate; survey the model itself."
        self.chosen, self.skipped = choose_studies(choose_by_name(options), reasons, no_loss)
        if not self.chosen:
            raise SettingError(f"No study can run on these maps: {' '.join(dict.fromkeys(self.skipped.values()))}")
        if self.store.level == "tokens" and not any(len(example) <= FITTING_TOKENS for example in self.store.examples):
            long = f"every stored input has over {FITTING_TOKENS} tokens, and only the model can cut one."
            self.skipped["figure 1"] = long
        self.identity = {"maps": sha256(folder / INDEX), "studies": list(self.chosen)} | code_of_studies(options)
        self.about = self.store.model | {"maps": str(options.maps)}

    def read(self, kind: str) -> Corpus:
        return KINDS[kind]().from_store(self.store, self._options.reading)

    def count_unknown(self, corpus: Corpus) -> UnknownCounts:
        return self._unknown

    @cached_property
    def _unknown(self) -> UnknownCounts:
        return stored_unknown(self.store)


def configured(
    source: Source, options: SurveyOptions, kind: str, about: Mapping[str, Any]
) -> tuple[dict[str, Study], Failures]:
    """Make the chosen studies of one kind of corpus, with the settings of the survey; return also which failed."""
    studies: dict[str, Study] = {}
    failures: Failures = {}
    setup = setup_of(options, source.stack == "decoder", about)
    for name, study in source.chosen.items():
        if study.corpus == kind:
            attempt(name, study, failures, partial(_configure, study, setup, studies))
    return studies, failures


def _configure(study: Study, setup: Setup, studies: dict[str, Study]) -> None:
    copy = deepcopy(study)
    copy.configure(setup)
    studies[study.name] = copy


def setup_of(options: SurveyOptions, causal: bool, about: Mapping[str, Any]) -> Setup:
    """Return what decides the results of studies. about: what is known of their corpus."""
    return Setup(causal, options.seed, options.bootstrap, options.least_count, options.definitions, about)


def choose_by_name(options: SurveyOptions) -> dict[str, Study] | None:
    """Return the studies that were asked for, by name or as objects; None if none were."""
    if options.chosen_studies is None:
        return None
    studies: dict[str, Study] = {}
    for wanted in options.chosen_studies:
        study = STUDIES[wanted]() if isinstance(wanted, str) else wanted
        if not isinstance(wanted, str):
            STUDIES.give(study.name, type(study))
            TABLES.give(type(study))
        studies[study.name] = study
    return studies


def code_of_studies(options: SurveyOptions) -> dict[str, Any]:
    """Return what tells studies given as objects apart from others of their names: their code and attributes."""
    given = [study for study in options.chosen_studies or () if not isinstance(study, str)]
    return {"code_of_studies": {study.name: _fingerprint(study) for study in given}} if given else {}


def _fingerprint(study: Study) -> str:
    try:
        code = inspect.getsource(type(study))
    except (OSError, TypeError):  # typed into an interpreter
        code = type(study).__qualname__
    return hashlib.sha256(f"{code}{sorted(vars(study).items())}".encode()).hexdigest()


def choose_studies(
    wanted: Mapping[str, Study] | None, without: Mapping[str, str], no_loss: str | None
) -> tuple[dict[str, Study], dict[str, str]]:
    """Return the studies to run, and why others are skipped. A study that was asked for is never skipped silently.

    Args:
        wanted: The studies that were asked for; None: all that can run.
        without: The kinds of corpus that are not available, and why; nothing is said where the reason is empty.
        no_loss: Why there is no loss to differentiate; None if there is one.
    """
    chosen, skipped = _installed() if wanted is None else (dict(wanted), {})
    for name, study in list(chosen.items()):
        reason = no_loss if study.watches == LOSS and no_loss else without.get(study.corpus)
        if reason is None and study.corpus in KINDS:
            continue
        reason = f"no kind of corpus is called {study.corpus}." if study.corpus not in KINDS else reason
        if wanted is not None and reason:
            raise SettingError(f"The study '{name}' cannot run: {reason}")
        del chosen[name]
        if reason:
            skipped[name] = reason
    return chosen, skipped


def _installed() -> tuple[dict[str, Study], dict[str, str]]:
    """Make every study there is; say why those of other packages cannot be made."""
    studies: dict[str, Study] = {}
    skipped = dict(STUDIES.refused)
    for name in STUDIES:
        try:
            study = STUDIES[name]()
            if study.name != name:
                raise PluginError(f"it calls itself '{study.name}', but its package calls it '{name}'")
            studies[name] = study
        except Exception as error:
            if STUDIES.is_own(name):
                raise
            skipped[name] = f"{STUDIES.found[name].source} failed: {describe_failure(error)}"
    return studies, skipped


def _why_not_stored(kind: str, store: Store) -> str | None:
    """Say why stored maps cannot stand for a kind of corpus; None if they can."""
    try:
        return KINDS[kind]().why_not_stored(store)
    except Exception as error:
        if KINDS.is_own(kind):
            raise
        return describe_failure(error)


def _sample_for(wanted: Mapping[str, Study] | None) -> dict[str, list[Path]]:
    """The files of the sample that comes with headatlas, of every kind that the chosen studies read."""
    read_by = None if wanted is None else {study.corpus for study in wanted.values()}
    return {kind: [path] for kind, path in sample_corpora().items() if read_by is None or kind in read_by}


def _find_corpora(options: SurveyOptions) -> dict[str, list[Path]]:
    """Find the files of each corpus that was given."""
    given = {kind: paths for kind in KINDS if (paths := getattr(options, kind)) is not None}
    files = {kind: find_files(paths, kind, folders=KINDS[kind].folders) for kind, paths in given.items()}
    return files | ({"treebank": files["text"]} if options.parse_with is not None else {})


def _check_corpora(wanted: Mapping[str, Study] | None, given: Mapping[str, Sequence[Path]]) -> None:
    """Refuse studies whose corpus is not given, and corpora that none of the chosen studies reads."""
    if wanted is None:
        return
    for name, study in wanted.items():
        if study.corpus not in given:
            raise SettingError(f"The study '{name}' cannot run without --{study.corpus} FILE.")
    read = {study.corpus for study in wanted.values()}
    if unread := [f"--{kind}" for kind in given if kind not in read]:
        raise SettingError(f"None of the chosen studies reads {' or '.join(unread)}: {', '.join(wanted)}.")


def why_no_gradients(model: Model) -> str | None:
    """Say why no loss can be differentiated; None if it can."""
    if model.is_encoder_decoder:
        return "an encoder-decoder has no masked or next-token loss; survey an encoder or a decoder."
    if model.language_model is None:
        kind = "masked language model" if "encoder" in model.shapes else "next-token (causal language model)"
        fit = ", or fit one: headatlas fit-mlm" if "encoder" in model.shapes else ""
        fit = ", or embedded-mlm, which is this model with a fitted head" if model.name == "embedded" else fit
        return NO_HEAD.format(name=model.name, kind=kind, fit=fit)
    if model.language_model == "masked" and model.tokenizer.mask_token_id is None:
        return f"the tokenizer of {model.name} has no mask token; save the model with its own tokenizer."
    return None
