"""Every figure that a folder of results has data for, written to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headatlas.errors import AtlasError, PluginError, first_line
from headatlas.files import own_subfolder
from headatlas.plugins import OWN
from headatlas.progress import stage
from headatlas.results.atlas import Atlas
from headatlas.results.comparison import Comparison, open_results
from headatlas.results.folder import Results
from headatlas.results.naming import short_name
from headatlas.results.tables import TABLES
from headatlas.views.figures import lines, probes
from headatlas.views.figures.comparison import comparison_figures
from headatlas.views.figures.style import FORMATS, save_figure
from headatlas.views.words.patterns import characteristic_heads, main_labels


def write_figures(results: Results, folder: Path | None = None, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure that the results have data for, by default to their `figures` folder."""
    folder = own_subfolder(results.folder, "figures") if folder is None else folder
    drawn = comparison_figures(results) if isinstance(results, Comparison) else _figures(results)
    paths = []
    with stage("Drawing figures") as bar:
        for stem, figure in drawn:
            bar.begin(1, note=stem)
            paths += save_figure(figure, folder / stem, formats)
            bar.advance()
    return paths


def _figures(results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw each figure that the tables have data for in turn, with the stem of its file."""
    tables = results.tables
    special_tokens = results.manifest.get("model", {}).get("special_tokens", {})
    labels = {kind: token for kind, token in special_tokens.items() if token}  # the model's names for [CLS] and [SEP]
    if isinstance(results, Atlas):
        if (heads := heads_figure(results, labels)) is not None:
            yield "figure1_heads", heads
        if examples := lines.clearest(results.relation_examples, tables):
            yield "figure5_relations", lines.relations_figure(examples)
    if "head_map" in tables:
        yield from _similarity_figures(tables)
    if "probes" in tables and tables["probes"]["probe"].eq("structural_distance").any():
        yield "probe_layers", probes.probe_layers_figure(tables["probes"])
    yield from probes.layer_figures(tables).items()
    for name in tables:
        if name in TABLES and (figure := TABLES[name].figure):
            yield figure[0], _draw(figure[1], tables[name], labels)


def _draw(place: str, table: pd.DataFrame, labels: Mapping[str, str]) -> Figure:
    """Draw a table with the function that it declares, named as "module:function"."""
    module, _, function = place.partition(":")
    try:
        figure: Figure = getattr(import_module(module), function)(table, labels)
    except Exception as error:
        if module.startswith(f"{OWN}."):
            raise
        raise PluginError(
            f"{place} cannot draw its table ({type(error).__name__}: {first_line(error)}). "
            "Mend or uninstall its package."
        ) from error
    return figure


def write_beside(folder: Path, other: Path, out: Path | None = None, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Figure A.3: the layers of two models side by side, by default into the `figures` folder of the first."""
    sides = []
    for results in map(open_results, (folder, other)):
        if "layer_mix" not in results.tables:
            raise AtlasError(f"{results.folder}: no layers to draw. Run `headatlas layers` first.")
        sides.append((short_name(results.manifest["model"]), results.tables))
    return save_figure(
        probes.layer_mix_figure(sides), (out or own_subfolder(folder, "figures")) / "layers_figureA3_beside", formats
    )


def _similarity_figures(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Figure 6, the tree of the clusters, and all distances."""
    from headatlas.views.figures import similarity  # imports scipy, which is slow

    distances, head_map = tables["head_distances"], tables["head_map"]
    yield "figure6_head_map", similarity.head_map_figure(head_map, main_labels(tables["behaviours"]))
    yield "head_tree", similarity.head_tree_figure(distances, head_map)
    yield "head_distances", similarity.head_distances_figure(distances, head_map)


def heads_figure(atlas: Atlas, labels: Mapping[str, str] | None = None) -> Figure | None:
    """Figure 1: the characteristic heads on the words of the example; None if either is missing."""
    chosen, example = characteristic_heads(atlas.tables, labels), atlas.example
    if example is None or not chosen:
        return None
    units, texts = lines.units_of(example.tokens, example.word_of, example.words)
    maps = np.stack([example.maps[head.layer - 1, head.head - 1] for head in chosen])
    captions = [head.caption for head in chosen]
    return lines.attention_lines_figure(
        texts, list(zip(captions, lines.between_units(maps, units, len(texts)), strict=True))
    )
