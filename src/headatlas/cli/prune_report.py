"""What pruning says on the screen when it ends."""

from __future__ import annotations

import typer

from headatlas.commands.prune.folder import PrunedFolder
from headatlas.views.words.about import left_out

_MOST_NAMED = 12
_MB = 1e6


def report(pruned: PrunedFolder) -> None:
    """Print which heads went, what that saves, and where the model is."""
    manifest = pruned.manifest
    model, removed = manifest["model"], manifest["removed"]
    total = sum(model["heads"])
    more = f" and {len(removed) - _MOST_NAMED} more" if len(removed) > _MOST_NAMED else ""
    typer.echo(f"\n{model['name']}: {len(removed)} of {total} heads cut out ({', '.join(removed[:_MOST_NAMED])}{more})")
    typer.echo(f"  - heads left in each layer: {', '.join(str(len(heads)) for heads in manifest['kept_heads'])}")
    parameters, tensors = manifest["parameters"], manifest["tensor_bytes"]
    typer.echo(f"  - parameters: {parameters['before']:,} before, {parameters['after']:,} after")
    held = (
        "as predicted" if tensors["after"] == tensors["predicted"] else f"predicted {tensors['predicted'] / _MB:,.1f}"
    )
    typer.echo(
        f"  - weights: {tensors['before'] / _MB:,.1f} MB before, {tensors['after'] / _MB:,.1f} MB after ({held}); "
        f"the file has {manifest['file_bytes']:,} bytes"
    )
    for part, words in (("attention_blocks", "attention blocks"), ("model", "whole model")):
        speed, memory = manifest["speed"][part], manifest["weights_in_memory"][part]
        typer.echo(
            f"  - {words}: {speed['ratio']:.2f} times the time ({1000 * speed['seconds_before']:.1f} ms before, "
            f"{1000 * speed['seconds_after']:.1f} ms after), {memory['after'] / memory['before']:.2f} of the weights"
        )
    peak, (rows, tokens) = manifest["peak_memory"], manifest["measured_on"]["inputs"]
    typer.echo(
        f"  - peak memory of a pass over {rows} x {tokens} tokens: {peak['before'] / _MB:,.1f} MB before, "
        f"{peak['after'] / _MB:,.1f} MB after ({peak['measured']})"
    )
    typer.echo(
        f"  - outputs equal those with the heads' gates shut (difference {manifest['difference_from_gating']:.1g})"
    )
    if omitted := left_out(manifest):
        typer.echo(f"Left out: {', '.join(omitted)}")
    if unused := model.get("unused_tensors"):
        more = f" and {len(unused) - _MOST_NAMED} more" if len(unused) > _MOST_NAMED else ""
        typer.echo(
            f"Not saved: tensors of the weights for which {manifest['saved_as']}, their class, has no place: "
            f"{', '.join(unused[:_MOST_NAMED])}{more}"
        )
    typer.echo(f"Model:   {pruned.folder} ({manifest['saved_as']})")
