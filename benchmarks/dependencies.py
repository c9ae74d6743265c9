"""The dependency study in a run against the bare forward pass."""

from __future__ import annotations

from benchmarks.measuring import Result, forward_passes, planned_batches, ratio
from headatlas.corpora.sample import sample_text
from headatlas.corpora.treebanks.label_sets import UNIVERSAL, possessive_clitic
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.word_segments import parsed_segments
from headatlas.engine.job import Observer
from headatlas.models.loading import load_model
from headatlas.studies.dependencies import Dependencies

GOAL = 1.3
QUICK_SENTENCES = 200


def measure(quick: bool) -> Result:
    """Time of a survey with the study over that of the forward pass, on the sentences of the embedded sample."""
    model = load_model("embedded", device="cpu")
    sample = parsed_segments(
        read_treebank([sample_text().with_suffix(".conllu")]),
        model.tokenizer,
        max_tokens=128,
        counts_as=lambda sentence: possessive_clitic(sentence, UNIVERSAL),
    )
    segments = sample.segments[:QUICK_SENTENCES] if quick else sample.segments
    batches = planned_batches(model, segments)
    study = Dependencies(sample.relations, sample.classes)
    study.start(model.shapes[model.default_stack])
    observer = Observer(model, {study.name: study})

    def survey() -> None:
        for batch in batches:
            observer.observe(batch)
        study.state()

    times = ratio(survey, forward_passes(model, segments), rounds=3 if quick else 15)
    return Result("dependencies", times, GOAL, also={"sentences": len(segments)})
