"""Every figure that a folder of results has data for, written to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from headatlas.errors import AtlasError, PluginError, first_line
from headatlas.files import own_subfolder
from headatlas.plugins import OWN
from headatlas.progress import stage
from headatlas.results.atlas import Atlas, Comparison, open_results
from headatlas.results.folder import Results
from headatlas.results.naming import short_name
from headatlas.results.tables import TABLES
from headatlas.views.figures import lines, probes
from headatlas.views.figures.comparison import comparison_figures
from headatlas.views.figures.facts import special_names, title_of
from headatlas.views.figures.style import FORMATS, Glossary, Looks, save_figure
from headatlas.views.words.patterns import characteristic_heads


def write_figures(
    results: Results, folder: Path | None = None, formats: Sequence[str] = FORMATS, **looks: Any
) -> list[Path]:
    """Write every figure that the results have data for.

    Args:
        results: An atlas, a comparison, or what another command returned.
        folder: Where to write; by default the folder `figures` of the results.
        formats: Any of svg, png and pdf.
        **looks: What all figures take: `title`, `size`, `style`, `words`; see `headatlas.figures`. Each of the words
            must occur in one of the figures.

    Returns:
        The files.
    """
    looks["words"] = glossary = Glossary(looks.get("words") or {})
    folder = own_subfolder(results.folder, "figures") if folder is None else folder
    drawn = comparison_figures(results, **looks) if isinstance(results, Comparison) else _figures(results, **looks)
    paths = []
    with stage("Drawing figures") as bar:
        for stem, figure in drawn:
            bar.begin(1, note=stem)
            paths += save_figure(figure, folder / stem, formats)
            bar.advance()
    glossary.refuse_unmet()
    return paths


def _figures(results: Results, **looks: Any) -> Iterator[tuple[str, Figure]]:
    """Draw each figure that the tables have data for in turn, with the stem of its file."""
    tables = results.tables
    if isinstance(results, Atlas):
        if results.example is not None and characteristic_heads(tables, special_names(results)):
            yield "figure1_heads", lines.heads_figure(results, **looks)
        if lines.clearest(results.relation_examples, tables):
            yield "figure5_relations", lines.relations_figure(results, **looks)
    if "head_map" in tables:
        from headatlas.views.figures import similarity  # imports scipy, which is slow

        yield "figure6_head_map", similarity.head_map_figure(results, **looks)
        yield "head_tree", similarity.head_tree_figure(results, **looks)
        yield "head_distances", similarity.head_distances_figure(results, **looks)
    if "probes" in tables and tables["probes"]["probe"].eq("structural_distance").any():
        yield "probe_layers", probes.probe_layers_figure(results, **looks)
    for table, stem, draw in _OF_LAYERS:
        if table in tables:
            yield stem, draw(results, **looks)
    for name in tables:
        if name in TABLES and (figure := TABLES[name].figure):
            yield figure[0], _draw(figure[1], name, results, looks)


_OF_LAYERS = (
    ("layer_mix", "layers_figure2_mix", probes.layer_mix_figure),
    ("layer_mix", "layers_scores", probes.layer_scores_figure),
    ("layer_examples", "layers_figure3_examples", probes.layer_examples_figure),
    ("head_mix", "layers_heads", probes.head_mix_figure),
)


def _draw(place: str, name: str, results: Results, looks: dict[str, Any]) -> Figure:
    """Draw a table with the function that it declares, named as "module:function"."""
    module, _, function = place.partition(":")
    try:
        draw = getattr(import_module(module), function)
        if module.startswith(f"{OWN}."):
            figure: Figure = draw(results, **looks)
            return figure
        drawn = partial(draw, results.tables[name], special_names(results))
        return Looks(**looks).draw(drawn, title_of(results, [name]))
    except Exception as error:
        if module.startswith(f"{OWN}."):
            raise
        raise PluginError(
            f"{place} cannot draw its table ({type(error).__name__}: {first_line(error)}). "
            "Mend or uninstall its package."
        ) from error


def write_beside(
    folder: Path, other: Path, out: Path | None = None, formats: Sequence[str] = FORMATS, **looks: Any
) -> list[Path]:
    """Figure A.3: the layers of two models side by side, by default into the `figures` folder of the first."""
    sides = []
    for results in map(open_results, (folder, other)):
        if "layer_mix" not in results.tables:
            raise AtlasError(f"{results.folder}: no layers to draw. Run `headatlas layers` first.")
        sides.append((short_name(results.manifest["model"]), results.tables))
    stem = (out or own_subfolder(folder, "figures")) / "layers_figureA3_beside"
    return save_figure(probes.layer_mix_figure(sides, **looks), stem, formats)
