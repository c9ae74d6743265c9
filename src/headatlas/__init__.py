"""headatlas: an atlas of a transformer's attention heads.

>>> import headatlas as ha
>>> atlas = ha.survey("bert-base-uncased", text="wiki.txt", out="atlas")   # doctest: +SKIP
>>> atlas.tables["positions"].query("offset == -1").nlargest(5, "value")   # doctest: +SKIP
>>> ha.write_figures(atlas)                                                 # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headatlas.errors import HeadatlasError

if TYPE_CHECKING:
    from headatlas.ablation.run import ablate
    from headatlas.atlas.draw import draw
    from headatlas.atlas.figures import write_figures
    from headatlas.atlas.notebook import NotebookPage, head_view, show_atlas
    from headatlas.atlas.page import write_page
    from headatlas.comparing import compare
    from headatlas.corpora.sample import sample_text, sample_treebank
    from headatlas.engine.crew import Crew
    from headatlas.exploring.run import explore
    from headatlas.fitting.fit import fit_mlm
    from headatlas.keyphrasing import keyphrases
    from headatlas.layering import layers
    from headatlas.merging.run import merge
    from headatlas.models.loading import load_model
    from headatlas.models.model import Model
    from headatlas.models.observing import observe_network
    from headatlas.probing import probe
    from headatlas.pruning.run import prune
    from headatlas.reproducing import reproduce
    from headatlas.results.atlas import Atlas, open_atlas
    from headatlas.results.comparison import Comparison, open_comparison
    from headatlas.store.observing import observe_words
    from headatlas.store.reading import Store, open_store
    from headatlas.surveying import extract, import_maps, survey

__version__ = version("headatlas")

# Where each public name lives. Loaded when first used: importing headatlas must not import torch.
_HOMES = {
    "Atlas": "headatlas.results.atlas",
    "Comparison": "headatlas.results.comparison",
    "Model": "headatlas.models.model",
    "NotebookPage": "headatlas.atlas.notebook",
    "compare": "headatlas.comparing",
    "Crew": "headatlas.engine.crew",
    "Store": "headatlas.store.reading",
    "ablate": "headatlas.ablation.run",
    "draw": "headatlas.atlas.draw",
    "explore": "headatlas.exploring.run",
    "extract": "headatlas.surveying",
    "fit_mlm": "headatlas.fitting.fit",
    "head_view": "headatlas.atlas.notebook",
    "import_maps": "headatlas.surveying",
    "keyphrases": "headatlas.keyphrasing",
    "layers": "headatlas.layering",
    "load_model": "headatlas.models.loading",
    "merge": "headatlas.merging.run",
    "observe_network": "headatlas.models.observing",
    "observe_words": "headatlas.store.observing",
    "open_atlas": "headatlas.results.atlas",
    "open_comparison": "headatlas.results.comparison",
    "open_store": "headatlas.store.reading",
    "prune": "headatlas.pruning.run",
    "probe": "headatlas.probing",
    "reproduce": "headatlas.reproducing",
    "sample_text": "headatlas.corpora.sample",
    "sample_treebank": "headatlas.corpora.sample",
    "show_atlas": "headatlas.atlas.notebook",
    "survey": "headatlas.surveying",
    "write_figures": "headatlas.atlas.figures",
    "write_page": "headatlas.atlas.page",
}

__all__ = [
    "Atlas",
    "Comparison",
    "Crew",
    "HeadatlasError",
    "Model",
    "NotebookPage",
    "Store",
    "__version__",
    "ablate",
    "compare",
    "draw",
    "explore",
    "extract",
    "fit_mlm",
    "head_view",
    "import_maps",
    "keyphrases",
    "layers",
    "load_model",
    "merge",
    "observe_network",
    "observe_words",
    "open_atlas",
    "open_comparison",
    "open_store",
    "probe",
    "prune",
    "reproduce",
    "sample_text",
    "sample_treebank",
    "show_atlas",
    "survey",
    "write_figures",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headatlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
