"""Every figure an atlas has data for, written to its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headatlas.errors import AtlasError
from headatlas.files import own_subfolder
from headatlas.results.atlas import open_atlas
from headatlas.results.naming import short_name
from headatlas.results.relation_examples import RelationExample
from headatlas.views.figures.ablation import ablation_figure, causal_figure, importance_figure
from headatlas.views.figures.choice import characteristic_heads
from headatlas.views.figures.keyphrases import keyphrase_curve_figure, keyphrase_heads_figure, keyphrase_scores_figure
from headatlas.views.figures.layer_probes import layer_figures, mix_figure
from headatlas.views.figures.layers import entropy_figure, gradients_figure, positions_figure, token_kinds_figure
from headatlas.views.figures.lines import Weights, attention_lines_figure
from headatlas.views.figures.probes import layers_figure, scores_figure, weights_figure
from headatlas.views.figures.relations import clearest, relations_figure
from headatlas.views.figures.removal import removal_figure
from headatlas.views.figures.style import FORMATS, save_figure
from headatlas.views.figures.units import between_units, units_of
from headatlas.views.published.views import Surveyed
from headatlas.views.words.behaviours import main_labels


class Example(Protocol):
    """One text with the maps of all heads, [layers, heads_max, n, n]."""

    @property
    def tokens(self) -> list[str]: ...
    @property
    def word_of(self) -> list[int]: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def maps(self) -> Weights: ...


class SurveyedAtlas(Surveyed, Protocol):
    """What the figures and the page need of an atlas."""

    @property
    def example(self) -> Example | None: ...
    @property
    def relation_examples(self) -> Sequence[RelationExample]: ...


def write_figures(atlas: SurveyedAtlas, folder: Path | None = None, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write figures 1 to 6 and those of probes and removed heads, where their tables exist, by default to `figures`."""
    folder = own_subfolder(atlas.folder, "figures") if folder is None else folder
    own = atlas.manifest.get("model", {}).get("special_tokens", {})
    labels = {kind: token for kind, token in own.items() if token}  # the model's own names for [CLS] and [SEP]
    paths: list[Path] = []
    heads = heads_figure(atlas, labels)
    if heads is not None:
        paths += save_figure(heads, folder / "figure1_heads", formats)
    drawings: dict[str, tuple[str, Callable[[pd.DataFrame], Figure]]] = {
        "token_kinds": ("figure2_token_kinds", lambda table: token_kinds_figure(table, labels)),
        "positions": ("figure2_positions", positions_figure),
        "gradients": ("figure3_gradients", lambda table: gradients_figure(table, labels)),
        "entropy": ("figure4_entropy", lambda table: entropy_figure(table, labels)),
        "ablation": ("ablation", ablation_figure),
        "importance": ("importance", importance_figure),
        "removal_curve": ("removal_curve", removal_figure),
        "causal": ("causal", causal_figure),
        "keyphrase_heads": ("keyphrase_heads", keyphrase_heads_figure),
        "keyphrase_curve": ("keyphrase_curve", keyphrase_curve_figure),
        "keyphrase_scores": ("keyphrase_scores", keyphrase_scores_figure),
        "probes": ("table3_probes", scores_figure),
        "probe_weights": ("probe_weights", weights_figure),
    }
    if examples := clearest(atlas.relation_examples, atlas.tables):
        paths += save_figure(relations_figure(examples), folder / "figure5_relations", formats)
    if "head_map" in atlas.tables:
        paths += _similarity_figures(atlas, folder, formats)
    if "probes" in atlas.tables and atlas.tables["probes"]["probe"].eq("structural_distance").any():
        paths += save_figure(layers_figure(atlas.tables["probes"]), folder / "probe_layers", formats)
    for stem, figure in layer_figures(atlas.tables).items():
        paths += save_figure(figure, folder / stem, formats)
    for name, (stem, draw) in drawings.items():
        if name in atlas.tables:
            paths += save_figure(draw(atlas.tables[name]), folder / stem, formats)
    return paths


def write_beside(folder: Path, other: Path, out: Path | None = None, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Figure A.3: the layers of two models side by side, by default to the first one's `figures`."""
    sides = []
    for one in (folder, other):
        atlas = open_atlas(one)
        if "layer_mix" not in atlas.tables:
            raise AtlasError(f"{one}: holds no layers to draw. Make them with: headatlas layers")
        sides.append((short_name(atlas.manifest["model"]), atlas.tables))
    return save_figure(mix_figure(sides), (out or own_subfolder(folder, "figures")) / "layers_figureA3_beside", formats)


def _similarity_figures(atlas: SurveyedAtlas, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Figure 6, the tree of the clusters, and all distances."""
    from headatlas.views.figures.similarity import (  # scipy is slow
        head_distances_figure,
        head_map_figure,
        head_tree_figure,
    )

    tables = atlas.tables
    distances, head_map = tables["head_distances"], tables["head_map"]
    figures = {
        "figure6_head_map": head_map_figure(head_map, main_labels(tables["behaviours"])),
        "head_tree": head_tree_figure(distances, head_map),
        "head_distances": head_distances_figure(distances, head_map),
    }
    return [path for stem, figure in figures.items() for path in save_figure(figure, folder / stem, formats)]


def heads_figure(atlas: SurveyedAtlas, labels: Mapping[str, str] | None = None) -> Figure | None:
    """Figure 1: the characteristic heads on the words of the example, where there are any of both."""
    chosen = characteristic_heads(atlas.tables, labels)
    if atlas.example is None or not chosen:
        return None
    units, texts = units_of(atlas.example.tokens, atlas.example.word_of, atlas.example.words)
    maps = np.stack([atlas.example.maps[one.layer - 1, one.head - 1] for one in chosen])
    between = between_units(maps, units, len(texts))
    return attention_lines_figure(texts, [(one.caption, own) for one, own in zip(chosen, between, strict=True)])
