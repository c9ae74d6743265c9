"""What `fit-mlm` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.commands.fit_mlm.run import Fit
from headatlas.commands.shared.report import Item, Written
from headatlas.wording import counted_reason


def report_fit(fit: Fit, *_: object) -> Iterator[Item]:
    """Say how well the fitted head predicts masked tokens, and what to do with it."""
    record = fit.record
    yield (
        f"\n{record['model']['name']}: {record['trained_parameters']:,} weights fitted on {record['tokens_seen']:,} "
        f"tokens in {record['training_seconds']:,.0f} s"
    )
    for label, key in (("fitted", "held_out"), ("unigram", "held_out_unigram")):
        loss, top1, top5 = (record[key][name] for name in ("loss", "top1", "top5"))
        yield f"  {label:8} loss {loss:.3f}, top-1 {100 * top1:.1f} %, top-5 {100 * top5:.1f} %"
    yield f"  on {record['held_out']['masked_tokens']:,} masked tokens of the held-out text"
    for reason, number in record["corpus"]["left_out"].items():
        yield f"Left out: {counted_reason(reason, number)}"
    survey = f"headatlas survey {fit.folder} --text FILE", "describe its heads, with gradients"
    explore = f"headatlas explore {fit.folder}", "mask words and watch what it predicts"
    yield Written(fit.folder, "the fitted model", next=(survey, explore))
