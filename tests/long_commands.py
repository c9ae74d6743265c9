"""Every command that runs for long, on a tiny model, in a process that has imported everything already.

A command is typed as people type it; `--out` is added by whoever runs it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import headatlas as ha
from tests.commands.keyphrases.made_up import corpus
from tests.commands.layers.span_corpora import write_treebank
from tests.treebank_parts import write_parts

SMALL = ["--device", "cpu", "--max-tokens", "32", "--batch-tokens", "96"]
NAMES = (
    "survey", "extract", "ablate", "probe", "layers", "fit-mlm", "keyphrases", "prune", "merge", "compare",
    "reproduce",
)  # fmt: skip


def make_inputs(folder: Path, model: str) -> None:
    """What the commands read: parts of the embedded sample, small corpora, shards and an atlas."""
    write_parts(folder, 60, 20)
    lines = ha.sample_text().read_text(encoding="utf-8").splitlines()
    (folder / "text.txt").write_text("\n".join(lines[:60]), encoding="utf-8")
    corpus(folder / "train.jsonl", 3)
    corpus(folder / "data.jsonl", 2, start=1)
    for seed, (part, count) in enumerate((("train", 40), ("eval", 12))):
        write_treebank(folder / f"spans-{part}.conllu", count, seed)
    options: dict[str, Any] = {"max_tokens": 32, "bootstrap": 20, "examples": 2, "device": "cpu", "progress": False}
    ha.survey(model, text=folder / "text.txt", out=folder / "atlas", segments=6, **options)
    for shard in ("1/2", "2/2"):
        ha.survey(model, text=folder / "text.txt", out=folder / shard[0], segments=6, shard=shard, **options)


def commands(folder: Path, model: str, headless: str) -> dict[str, list[str]]:
    """Each command with its arguments; those that draw pictures draw none."""
    text, trees = str(folder / "text.txt"), {part: str(folder / f"{part}.conllu") for part in ("train", "dev")}
    spans = [str(folder / f"spans-{part}.conllu") for part in ("train", "eval")]
    survey = ["--segments", "12", "--bootstrap", "20", "--examples", "2"]
    training = ["--seeds", "1", "--bootstrap", "20"]
    curves = ["--examples", "6", "--steps", "2", "--random-orders", "1", "--bootstrap", "20"]
    documents = ["--train", str(folder / "train.jsonl"), "--data", str(folder / "data.jsonl"), "--bootstrap", "20"]
    inputs = ["--wikipedia", text, "--ptb-dev", trees["dev"], "--bootstrap", "20", "--segments", "8"]
    atlas = str(folder / "atlas")
    written = {
        "survey": [model, "--text", text, "--treebank", trees["dev"], *survey, *SMALL, "--no-figures"],
        "extract": [model, "--treebank", trees["train"], "--shard-megabytes", "1", *SMALL],
        "ablate": [model, "--task", "masked-lm", "--text", text, *curves, *SMALL, "--no-figures"],
        "probe": [model, "--treebank", trees["train"], "--eval", trees["dev"], *training, "--epochs", "2", "--probes",
                  "right_branching", "attention", "--device", "cpu", "--max-tokens", "60", "--batch-tokens", "96",
                  "--no-figures"],
        "layers": [model, "--train", spans[0], "--eval", spans[1], "--task", "pos", "dependencies", *training, *SMALL,
                   "--updates", "40", "--no-figures"],
        "fit-mlm": [headless, "--text", text, "--tokens", "1500", "--max-tokens", "24", "--batch-tokens", "96",
                    "--save-every", "0", "--device", "cpu"],
        "keyphrases": [model, *documents, *SMALL, "--no-figures"],
        "prune": [model, "--by", "importance", "--share", "0.3", "--text", text, "--examples", "6", *SMALL],
        "merge": [str(folder / "1"), str(folder / "2"), "--no-figures"],
        "compare": [atlas, atlas, "--text", text, "--segments", "6", "--batch-tokens", "96", "--device", "cpu",
                    "--no-figures"],
        "reproduce": ["clark2019", "--model", model, *inputs, *SMALL],
    }  # fmt: skip
    assert set(written) == set(NAMES)
    return written


def run_command(name: str, arguments: list[str], out: Path) -> None:
    """One life of a command, which saves as often as it can; it ends as the command line does."""
    from headatlas.cli.app import main
    from headatlas.commands.reproduce import run as reproducing
    from headatlas.commands.survey import run as surveying
    from headatlas.engine import run
    from headatlas.views.figures.write import write_figures

    surveying.run_studies = partial(run.run_studies, seconds_between_saves=0)
    reproducing.write_figures = partial(write_figures, formats=("svg",))
    sys.argv = ["headatlas", name, *arguments, "--out", str(out)]
    main()
