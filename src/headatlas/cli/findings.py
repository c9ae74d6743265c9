"""What commands found, line by line, for the end of their output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headatlas.commands.fit_mlm.run import Fit
from headatlas.commands.prune.run import PrunedFolder
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import view_of
from headatlas.views.words.about import left_out

_MOST_NAMED = 12
_MB = 1e6


def probe_findings(results: Atlas) -> Iterator[str]:
    """The scores of all probes, and how far the treebanks limit them."""
    yield render(view_of(results, "probes"), "terminal").rstrip("\n")
    for name, about in results.manifest["corpora"].items():
        if shared := about.get("also_in_train"):
            yield f"--{name}: {shared:,} of {about['sentences']:,} sentences are also among those to train on"
        if unknown := about.get("without_vector", {"words": 0})["words"]:
            yield f"--{name}: {unknown:,} of {about['words']:,} words have no vector"


def pruning_findings(pruned: PrunedFolder) -> Iterator[str]:
    """Which heads were cut out, what that saves, and where the model is."""
    manifest = pruned.manifest
    model, removed = manifest["model"], manifest["removed"]
    yield f"\n{model['name']}: {len(removed)} of {sum(model['heads'])} heads cut out ({_list_some(removed)})"
    yield f"  - heads left in each layer: {', '.join(str(len(heads)) for heads in manifest['kept_heads'])}"
    parameters, tensors = manifest["parameters"], manifest["tensor_bytes"]
    yield f"  - parameters: {parameters['before']:,} before, {parameters['after']:,} after"
    predicted = "as" if tensors["after"] == tensors["predicted"] else f"{tensors['predicted'] / _MB:,.1f} MB"
    yield (
        f"  - weights: {_before_and_after(tensors)} ({predicted} predicted); the file has "
        f"{manifest['file_bytes']:,} bytes"
    )
    for part, words in (("attention_blocks", "attention blocks"), ("model", "whole model")):
        speed, memory = manifest["speed"][part], manifest["weights_in_memory"][part]
        yield (
            f"  - {words}: {speed['ratio']:.2f} times the time ({1000 * speed['seconds_before']:.1f} ms before, "
            f"{1000 * speed['seconds_after']:.1f} ms after), {memory['after'] / memory['before']:.2f} of the weights"
        )
    if peak := manifest["peak_memory"]:
        rows, tokens = manifest["measured_on"]["inputs"]
        yield f"  - peak memory of a pass over {rows} x {tokens} tokens: {_before_and_after(peak)}"
    yield f"  - outputs equal those with the heads' gates closed (difference {manifest['difference_from_gating']:.1g})"
    if omitted := left_out(manifest):
        yield f"Left out: {', '.join(omitted)}"
    if unused := model.get("unused_tensors"):
        yield f"Not saved: tensors that {manifest['saved_as']}, the model's class, does not have: {_list_some(unused)}"
    yield f"Model:   {pruned.folder} ({manifest['saved_as']})"


def _list_some(names: Sequence[str]) -> str:
    """List the first names and count the rest."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _before_and_after(sizes: Mapping[str, float]) -> str:
    return f"{sizes['before'] / _MB:,.1f} MB before, {sizes['after'] / _MB:,.1f} MB after"


def fit_findings(fit: Fit) -> Iterator[str]:
    """How well the head predicts masked tokens, and what to do with it."""
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
        yield f"Left out: {reason} {number:,}"
    yield f"Folder:  {fit.folder}"
    yield f"Next:    headatlas survey {fit.folder} --text FILE --out DIR"
