"""What decides the outcome of an ablation, beside its model and data, and what of it cannot work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headatlas.choices import AblationKind
from headatlas.commands.ablate.classification import Pooling
from headatlas.commands.ablate.replacement import KINDS
from headatlas.corpora.coreference.read import COREFERENCE_FORMATS, CoreferenceFormat
from headatlas.corpora.keyphrases.read import KEYPHRASE_FORMATS, KeyphraseFormat
from headatlas.corpora.text import TEXT_FORMATS, TextFormat
from headatlas.corpora.treebanks.read import TREEBANK_FORMATS, TreebankFormat
from headatlas.encoding.shards import Shard
from headatlas.errors import SettingError

FEWEST_PAIRS = 20  # of words; with fewer, the causal test leaves a relation out
CORPUS_OF_TASK = {
    "masked-lm": "text",
    "next-token": "text",
    "classification": "data",
    "minimal-pairs": "pairs",
    "translation": "data",
    "keyphrases": "data",
    "probe": "eval",
    "causal": "treebank",
}
"""Task -> the option that brings the data it is scored on."""

TRAINED_ON = {"classification": "train", "probe": "treebank"}
"""Task -> the option that brings what it is trained on."""


@dataclass(frozen=True)
class AblationSettings:
    """The settings of an ablation, by the names of its options."""

    kind: AblationKind
    examples: int
    max_tokens: int
    batch_tokens: int
    columns: tuple[str, ...] | None
    sets: tuple[str, ...] | None
    train_share: float
    pooling: Pooling
    heads: tuple[str, ...] | None
    curves: bool
    steps: int
    random_orders: int
    controls: int
    words: int
    bootstrap: int
    seed: int
    text_format: TextFormat
    treebank_format: TreebankFormat
    coreference_format: CoreferenceFormat
    keyphrase_format: KeyphraseFormat
    shard: str | None = None

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        counts = ("examples", "max_tokens", "batch_tokens", "steps", "random_orders", "controls", "words", "bootstrap")
        for name in counts:
            if (number := getattr(self, name)) < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {number}.")
        if self.words < FEWEST_PAIRS:
            raise SettingError(
                f"--words must be at least {FEWEST_PAIRS}, not {self.words}: with fewer words a relation is not tested."
            )
        if self.shard is not None:
            Shard.parse(self.shard)
        known: dict[str, tuple[str, ...]] = {
            "kind": KINDS,
            "pooling": ("mean", "first"),
            "text_format": TEXT_FORMATS,
            "treebank_format": TREEBANK_FORMATS,
            "coreference_format": COREFERENCE_FORMATS,
            "keyphrase_format": KEYPHRASE_FORMATS,
        }
        for name, words in known.items():
            if (word := getattr(self, name)) not in words:
                raise SettingError(f"--{name.replace('_', '-')} {word} is unknown. Use one of: {', '.join(words)}.")


def check_tasks(tasks: Sequence[str], given: Sequence[str]) -> None:
    """Refuse tasks that do not exist, do not go together, or whose data are not given, and data that no task uses."""
    if not tasks or (unknown := set(tasks) - set(CORPUS_OF_TASK)):
        what = f"Unknown task: {', '.join(sorted(unknown))}." if tasks else "No task is chosen."
        raise SettingError(f"{what} There are: {', '.join(CORPUS_OF_TASK)}.")
    if len(set(tasks)) < len(tasks):
        raise SettingError("A task is named twice.")
    both = [task for task in tasks if CORPUS_OF_TASK[task] == "data"]
    if len(both) > 1:
        raise SettingError(f"{' and '.join(both)} read --data each. Run them one after the other.")
    causal = {"treebank", "coreference"}
    for task in tasks:
        if task == "causal":
            if "atlas" not in given or not causal & set(given):
                raise SettingError(
                    "The task causal needs --atlas DIR, in which heads were found for relations, and --treebank FILE "
                    "or --coreference FILE."
                )
        elif (option := CORPUS_OF_TASK[task]) not in given:
            raise SettingError(f"The task {task} cannot run without --{option} FILE.")
        elif task == "probe" and "treebank" not in given:
            raise SettingError("The task probe is trained on a treebank. Name one with --treebank FILE.")
    used = {CORPUS_OF_TASK[task] for task in tasks} | (causal | {"atlas"} if "causal" in tasks else set())
    used |= {TRAINED_ON[task] for task in tasks if task in TRAINED_ON}
    if unused := sorted(set(given) - used):
        raise SettingError(f"--{unused[0]} is given, but none of the tasks chosen reads it: {', '.join(tasks)}.")
