"""Write docs/bert-base.md from the folder that `headatlas reproduce clark2019` made.

python -m scripts.document_bert DIR
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from headatlas.commands.reproduce.claim import MARGINS, WIDEST
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import markdown_text
from headatlas.views.published.views import counts, reproduction_view
from headatlas.views.words.about import corpora_read

DOCUMENT = Path(__file__).parents[1] / "docs" / "bert-base.md"
COMMAND = """\
paper() {
    headatlas reproduce clark2019 --model bert-base --wikipedia wiki.test.raw --segments 150 \\
        --ptb-dev gum-dev/*.conll10 --ptb-train gum-train/*.conll10 --probe-sentences 300 --probe-seeds 1 \\
        --conll2012 ontogum_dev.conll --out bert-base-clark2019 "$@"
}
paper

headatlas keyphrases bert-base --train Training.zip --data Validation.zip --documents 100 --max-tokens 256 --out phrases
headatlas prune bert-base --heads {1..8}-{1..3} --out pruned

layers() {
    headatlas layers bert-base --train-targets 400 --updates 300 --eval-limit 200 --control fresh --no-heads \\
        --out layers "$@"
}
layers --task pos dependencies --train gum-train/*.conll10 --eval gum-dev/*.conll10
layers --task relations --train TRAIN_FILE.TXT --eval TEST_FILE_FULL.TXT
layers --task coreference --train ontogum_train.conll --eval ontogum_dev.conll

without() {  # the folder, what the weights are, the number of examples, the task
    headatlas ablate bert-base --out "$1" $2 --examples $3 --steps 5 --random-orders 2 "${@:4}"
}
probe="--task probe --eval gum-dev-written/*.conll10 --also spoken=gum_dev_spoken.conll10"
polarity="--task classification --max-tokens 48 --data polarity.tsv"
trained="--atlas bert-base-clark2019" random="--random-weights fresh"
without probe "$trained" 100 $probe --treebank gum-train-some/*.conll10
without probe-random "$random" 24 $probe --treebank gum-train-some/*_news_*.conll10
without polarity "$trained" 100 $polarity
without polarity-random "$random" 40 $polarity

translation="--task translation --data xquad_questions.tsv --attention encoder --no-curves"
headatlas ablate marian $translation --examples 128 --max-tokens 64 --out bleu
headatlas ablate marian $translation --examples 40 --max-tokens 48 --random-weights fresh --out bleu-random

paper --results phrases pruned layers probe probe-random polarity polarity-random bleu bleu-random
python -m scripts.document_bert bert-base-clark2019"""
DIFFERENCES = (
    "**Checkpoint.** The heads are those of BERT-base, 12 layers of 12, but cased, where the paper's figures are those "
    "of the uncased model; fine-tuned for named entities; and rounded to 8 bits. So numbers of heads and layers are "
    "not expected to agree. The masked-LM head is missing, so gradients (claim 13) cannot be computed.",
    "**Text.** The test articles of WikiText-2, tokenised, instead of 1,000 segments of Wikipedia.",
    "**Treebank.** GUM, tag V5.1.0, in original Stanford Dependencies, instead of the Wall Street Journal: 26 "
    "documents, every third of each genre (`gum-dev`). Probes learn from 300 sentences of the others, with one seed.",
    "**Coreference.** The development part of OntoGUM instead of CoNLL-2012, cut to the beginning of each document, as "
    "in the paper; there are few mentions, and intervals are wide.",
    "**Keyphrases.** 100 abstracts of Inspec to choose heads on, and 100 others to score. The .36 and .37 of the "
    "lecture are those of a fine-tuned tagger, and are not set beside ours.",
    "**Pruning.** The first three heads of layers 1 to 8, whatever they do: what they save does not depend on that. "
    "The time is a median of five rounds, without an interval.",
    "**Layers.** Parts of speech and dependencies from GUM, relations from SemEval-2010 task 8, coreference from "
    "OntoGUM, 400 training targets for each task, five trainings.",
    "**Removed heads.** The lectures' tasks were fine-tuned; here a linear classifier (sentence polarity) or an "
    "attention probe (GUM) reads the network as it is, so its accuracies are lower. The two sets of claim 40 are GUM's "
    "written texts and its interviews. 100 examples with the trained weights, 24 or 40 with random ones.",
    "**Translation.** A Marian model, Chinese to English, 6 layers of 8 heads in its encoder; 128 questions of XQuAD. "
    "The heads of its decoder and of its cross attention, removed by the same command with `--attention decoder` and "
    "`cross`, are not in the table: without decoder head 2-7, BLEU falls from 27.5 by 26.4 (21.3 to 31.5; p = .001, "
    "corrected for 48 heads); no other decoder head and no cross head is needed at p < .01 (next: cross head 5-3, by "
    "3.3, p = .04).",
)
TABLES = ("table 1", "notebook", "table 2", "table 3")
COLUMNS = ("claim", "where", "what", "published", "ours", "95 % interval", "verdict", "fresh", "shuffled")


def document(atlas: Atlas) -> str:
    """The page: what was run, what differs, and every claim with its verdict and that of random weights."""
    table = atlas.tables["reproduction"]
    run, corpus = table["verdict"] != "not run", table["decided_by"] == "corpus"
    in_tables = table["place"].isin(TABLES)
    parts = [
        "# BERT-base and the paper",
        'This page sets every claim of "What Does BERT Look At?" (Clark et al. 2019), and of lectures about it, beside '
        "what `headatlas` finds in BERT-base, and beside what the same network gives with random weights. It "
        "is made by the commands below (bash), in some two hours on two cores:",
        f"```sh\n{COMMAND}\n```",
        f"**{counts(table)}**",
        "## What differs from the paper",
        "\n".join(f"- {line}" for line in DIFFERENCES),
        "Read were: " + "; ".join(markdown_text(line.rstrip(".")) for line in corpora_read(atlas.manifest)) + ".",
        "## How to read the tables",
        "A number is reproduced if the published value lies within our 95 % interval, widened by a margin "
        f"({MARGINS['table 1']:g} points in table 1, {MARGINS['table 2']:g} in tables 2 and 3, "
        f"{MARGINS['nats']:g} nats, {MARGINS['heads']:g} head), and the interval is at most {WIDEST['%']:g} points, "
        f"{WIDEST['nats']:g} nats or {WIDEST['heads']:g} heads wide. A finding is reproduced if its rule "
        "([definitions](definitions.md#what-counts-as-reproduced)) holds beyond its interval. Neither counts if random "
        "weights meet the rule too (\\*); it is then not decided. *fresh*: weights drawn anew; *shuffled*: the "
        "entries of every matrix permuted.",
        "## Findings and numbers of the text",
        *_rows(table[run & ~corpus & ~in_tables]),
        "## Tables 1 to 3",
        *_rows(table[run & ~corpus & in_tables]),
        "## Checks of the corpus",
        "No model decides these: they show how far our corpora are like the paper's, and what pruning saves.",
        *_rows(table[run & corpus], ("claim", "where", "what", "published", "ours", "95 % interval", "verdict")),
        "## Not run",
        *_rows(table[~run], ("claim", "where", "what", "published", "verdict")),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(table: pd.DataFrame, shown: tuple[str, ...] = COLUMNS) -> Iterator[str]:
    view = reproduction_view(table, "")
    places = [next(n for n, column in enumerate(view.columns) if column.title == title) for title in shown]
    lines = [shown, tuple("---" for _ in shown)]
    lines += [tuple(markdown_text(cells[place]) for place in places) for cells in view.cells]
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    DOCUMENT.write_text(document(Atlas(Path(sys.argv[1]))), encoding="utf-8")
    print(f"Wrote {DOCUMENT}")
