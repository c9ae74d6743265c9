"""headatlas ablate as it is typed."""

from __future__ import annotations

import re

from headatlas.corpora.sample import sample_text
from typed import typed

QUICK = [
    "--examples",
    "6",
    "--max-tokens",
    "64",
    "--bootstrap",
    "20",
    "--steps",
    "2",
    "--random-orders",
    "1",
    "--no-figures",
]


def test_the_command_says_what_it_found(tiny_folder, tmp_path):
    out = tmp_path / "out"
    done = typed("ablate", tiny_folder("bert"), "--task", "masked-lm", "--text", sample_text(), "--out", out, *QUICK)
    assert done.exit_code == 0, done.output
    assert "masked-lm: 6 examples of sample.txt" in done.output
    assert re.search(r"With all heads, log likelihood is -[\d.]+ nats and accuracy is [\d.]+ %\.", done.output)
    assert "No head is needed and none does harm at p < 0.01, corrected for 8 heads (no head changes" in done.output
    assert "With 50 % of the heads removed, least important first, log likelihood is -" in done.output
    assert "random orders -" in done.output
    for name in ("ablation", "importance", "removal_curve"):
        shown = typed("table", out, name, "--rows", "3")
        assert shown.exit_code == 0, shown.output


def test_the_format_of_keyphrases_can_be_named(tmp_path):
    data = tmp_path / "documents.jsonl"
    data.write_text('{"text": "A cat sat.", "keyphrases": ["cat"]}\n', encoding="utf-8")
    line = ["ablate", "m", "--task", "keyphrases", "--data", data, "--out", tmp_path / "out"]
    done = typed(*line, "--format", "keyphrases=pdf")
    assert done.exit_code == 1
    assert "--format keyphrases=pdf is not available. Choose from: keyphrases=auto, " in done.output
