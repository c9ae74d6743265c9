"""What `prune` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headatlas.commands.prune.run import PrunedFolder
from headatlas.commands.shared.report import Item, Written
from headatlas.manifest import BeforeAndAfter
from headatlas.views.words.about import left_out

_MOST_NAMED = 12
_MB = 1e6


def report_prune(pruned: PrunedFolder, *_: object) -> Iterator[Item]:
    """Say which heads were cut out, what that saves, and where the model is."""
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
        yield f"Not saved, because {manifest['saved_as']} does not have these tensors: {_list_some(unused)}"
    survey = f"headatlas survey {pruned.folder} --text FILE", "describe the heads that are left"
    yield Written(pruned.folder, manifest["saved_as"], next=(survey,))


def _list_some(names: Sequence[str]) -> str:
    """List the first names and count the rest."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _before_and_after(sizes: BeforeAndAfter) -> str:
    return f"{sizes['before'] / _MB:,.1f} MB before, {sizes['after'] / _MB:,.1f} MB after"
