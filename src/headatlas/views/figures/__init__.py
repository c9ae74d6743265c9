"""Figures, as functions that return matplotlib figures.

Every function whose name ends in `_figure` draws results (an atlas, or its folder), or the tables that it names:

    import headatlas as ha

    ha.figures.entropy_figure("atlas", title="How broadly heads attend", size=(6, 4)).savefig("entropy.pdf")

All take `title`, `size` (inches), `style` and `words`; those with one panel take `ax`, a panel of a figure of yours.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headatlas.views.figures.ablation import ablation_figure as ablation_figure
    from headatlas.views.figures.ablation import causal_figure as causal_figure
    from headatlas.views.figures.ablation import importance_figure as importance_figure
    from headatlas.views.figures.ablation import removal_figure as removal_figure
    from headatlas.views.figures.ablation import sets_figure as sets_figure
    from headatlas.views.figures.comparison import best_heads_figure as best_heads_figure
    from headatlas.views.figures.comparison import head_matches_figure as head_matches_figure
    from headatlas.views.figures.comparison import heads_moved_figure as heads_moved_figure
    from headatlas.views.figures.comparison import surface_figure as surface_figure
    from headatlas.views.figures.layers import entropy_figure as entropy_figure
    from headatlas.views.figures.layers import gradients_figure as gradients_figure
    from headatlas.views.figures.layers import positions_figure as positions_figure
    from headatlas.views.figures.layers import token_kinds_figure as token_kinds_figure
    from headatlas.views.figures.lines import attention_lines_figure as attention_lines_figure
    from headatlas.views.figures.lines import heads_figure as heads_figure
    from headatlas.views.figures.lines import panels_figure as panels_figure
    from headatlas.views.figures.lines import relations_figure as relations_figure
    from headatlas.views.figures.probes import head_mix_figure as head_mix_figure
    from headatlas.views.figures.probes import layer_examples_figure as layer_examples_figure
    from headatlas.views.figures.probes import layer_mix_figure as layer_mix_figure
    from headatlas.views.figures.probes import layer_scores_figure as layer_scores_figure
    from headatlas.views.figures.probes import probe_layers_figure as probe_layers_figure
    from headatlas.views.figures.probes import probe_scores_figure as probe_scores_figure
    from headatlas.views.figures.probes import probe_weights_figure as probe_weights_figure
    from headatlas.views.figures.similarity import head_distances_figure as head_distances_figure
    from headatlas.views.figures.similarity import head_map_figure as head_map_figure
    from headatlas.views.figures.similarity import head_tree_figure as head_tree_figure
    from headatlas.views.figures.style import label_words as label_words
    from headatlas.views.figures.style import save_figure as save_figure

# What no table declares as its figure.
_HOMES = {
    "comparison": ("best_heads_figure", "head_matches_figure", "heads_moved_figure", "surface_figure"),
    "lines": ("attention_lines_figure", "heads_figure", "panels_figure", "relations_figure"),
    "probes": (
        "head_mix_figure",
        "layer_examples_figure",
        "layer_mix_figure",
        "layer_scores_figure",
        "probe_layers_figure",
    ),
    "similarity": ("head_distances_figure", "head_map_figure", "head_tree_figure"),
    "style": ("label_words", "save_figure"),
}


@cache
def _places() -> dict[str, str]:
    """The module of every public name; also of the figures that the tables of headatlas's own commands declare."""
    from headatlas.plugins import OWN
    from headatlas.results.tables import TABLES

    places = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}
    declared = (table.figure[1].partition(":") for table in TABLES.values() if table.figure)
    return places | {name: module for module, _, name in declared if module.startswith(f"{OWN}.")}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_places())
    if not name.startswith("_") and name in _places():
        return getattr(import_module(_places()[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_places())
