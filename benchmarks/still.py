"""How long the screen stands still: the longest time between two reports to the progress display, of each command.

Every command runs in a process of its own, as people type it, on the inputs of the demo: the embedded models and the
samples that come with headatlas. The clock starts with the process, so imports before the first report count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headatlas.corpora.sample import sample_corpora
from headatlas.progress import Stage, showing

if TYPE_CHECKING:
    from benchmarks.measuring import Result

SECONDS = 2.0
QUICK = ("survey", "figures", "page")


class Watcher:
    """A display that measures how long nothing moves."""

    def __init__(self, started: float) -> None:
        self._latest, self._where = started, "before the first report"
        self.longest = (0.0, "")

    def begin(self, stage: Stage) -> None:
        """Note a stage that begins."""
        self.update(stage)

    def update(self, stage: Stage) -> None:
        """Note that something moved."""
        now = time.time()
        self.longest = max(self.longest, (now - self._latest, self._where))
        self._latest, self._where = now, stage.name

    def end(self, stage: Stage, finished: bool) -> None:
        """Note a stage that ends."""
        self.update(stage)
        self._where = f"after {stage.name}"


def demo_commands(folder: Path) -> dict[str, list[str]]:
    """Each long command with its arguments, in an order in which each finds what it needs."""
    text, treebank, coreference = (str(sample_corpora()[kind]) for kind in ("text", "treebank", "coreference"))
    halves = _halves(Path(treebank), folder)
    pairs, labelled = _pairs(folder), _labelled(Path(text), folder)
    atlas, mlm = str(folder / "survey"), "embedded-mlm"
    few = ["--examples", "32", "--steps", "5", "--random-orders", "1"]
    ablate = ["ablate", mlm, *few]
    written = {
        "survey": ["survey", mlm],
        "survey of a decoder": ["survey", "embedded-decoder", "--text", text, "--segments", "20"],
        "figures": ["figures", atlas],
        "page": ["page", atlas],
        "extract": ["extract", mlm, "--treebank", treebank],
        "ablate masked-lm": [*ablate, "--task", "masked-lm", "--text", text],
        "ablate minimal-pairs": [*ablate, "--task", "minimal-pairs", "--pairs", pairs],
        "ablate classification": [*ablate, "--task", "classification", "--data", labelled],
        "ablate probe": [*ablate, "--task", "probe", "--treebank", halves[0], "--eval", halves[1]],
        "ablate causal": [*ablate, "--task", "causal", "--treebank", treebank, "--atlas", atlas, "--words", "20"],
        "prune": ["prune", mlm, "--by", "importance", "--share", "0.3", "--text", text],
        "probe": ["probe", mlm, "--treebank", halves[0], "--eval", halves[1], "--seeds", "1"],
        "layers": ["layers", mlm, "--train", halves[0], "--eval", halves[1], "--task", "pos", "--seeds", "2"],
        "fit-mlm": ["fit-mlm", "embedded", "--text", text, "--tokens", "20000"],
        "compare": ["compare", atlas, atlas, "--text", text, "--segments", "50"],
        "keyphrases": ["keyphrases", "embedded", "--text", text],  # whose heads for it are known
        "reproduce": [
            *("reproduce", "clark2019", "--model", mlm),
            *("--wikipedia", text, "--ptb-dev", treebank, "--conll2012", coreference),
        ],
    }
    without_out = {"figures", "page"}
    return {
        name: words if name in without_out else [*words, "--out", str(folder / name.replace(" ", "-"))]
        for name, words in written.items()
    }


def measure(quick: bool) -> Result:
    """The longest still screen of all commands over two seconds."""
    from benchmarks.measuring import Result  # takes seconds, which must not count for the commands

    still: dict[str, float] = {}
    where: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for name, words in demo_commands(Path(folder)).items():
            if quick and name not in QUICK:
                continue
            child = [sys.executable, "-m", "benchmarks.still", str(time.time()), *words]
            done = subprocess.run(child, check=True, capture_output=True, text=True)
            still[name], where[name] = json.loads(done.stdout.splitlines()[-1])
    worst = max(still, key=lambda name: still[name])
    also = {"seconds": {name: round(seconds, 2) for name, seconds in still.items()}, "worst_in": where[worst]}
    return Result("still", still[worst] / SECONDS, 1.0, also=also)


def _halves(treebank: Path, folder: Path) -> list[str]:
    """Write both halves of a treebank."""
    trees = treebank.read_text(encoding="utf-8").strip().split("\n\n")
    paths = []
    for name, part in (("train", trees[::2]), ("eval", trees[1::2])):
        paths.append(folder / f"{name}.conllu")
        paths[-1].write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    return [str(path) for path in paths]


def _pairs(folder: Path) -> str:
    """Write minimal pairs that differ in the verb's number."""
    nouns = ("key", "dog", "teacher", "picture", "house", "report", "river", "engine")
    verbs = (("is", "are"), ("was", "were"), ("looks", "look"), ("seems", "seem"))
    sides = ("sentence_good", "sentence_bad")
    rows = [
        {side: f"The {noun} near the trees {verb} old." for side, verb in zip(sides, both, strict=True)}
        for noun in nouns
        for both in verbs
    ]
    path = folder / "agreement.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def _labelled(text: Path, folder: Path) -> str:
    """Write lines of a text, labelled by whether they are long."""
    lines = [line.replace("\t", " ") for line in text.read_text(encoding="utf-8").splitlines() if len(line) > 40][:120]
    path = folder / "labelled.tsv"
    rows = [f"{line[:200]}\t{'long' if len(line) > 120 else 'short'}\n" for line in lines]
    path.write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    return str(path)


def _run(started: float, words: list[str]) -> None:
    """Run one command and print its longest still time, and where that was."""
    from headatlas.cli.app import main

    watcher = Watcher(started)
    with showing(watcher):
        main(words)
    print(json.dumps(watcher.longest))


if __name__ == "__main__":
    _run(float(sys.argv[1]), sys.argv[2:])
