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
    from headatlas.commands.ablate.run import ablate
    from headatlas.commands.compare import compare
    from headatlas.commands.draw.run import draw
    from headatlas.commands.explore.run import explore
    from headatlas.commands.fit_mlm.run import fit_mlm
    from headatlas.commands.keyphrases import keyphrases
    from headatlas.commands.layers import layers
    from headatlas.commands.merge.run import merge
    from headatlas.commands.probe import probe
    from headatlas.commands.prune.run import prune
    from headatlas.commands.reproduce import reproduce
    from headatlas.commands.survey import extract, import_maps, survey
    from headatlas.corpora.sample import sample_text, sample_treebank
    from headatlas.engine.workers import Crew
    from headatlas.models.loading import load_model
    from headatlas.models.model import Model
    from headatlas.models.observing import observe_network
    from headatlas.results.atlas import Atlas, open_atlas
    from headatlas.results.comparison import Comparison, open_comparison
    from headatlas.store.reading import Store, open_store
    from headatlas.store.word_maps import observe_words
    from headatlas.views.figures.write import write_figures
    from headatlas.views.notebook import NotebookPage, head_view, show_atlas
    from headatlas.views.page import write_page

__version__ = version("headatlas")

# Where each public name lives. Loaded when first used: importing headatlas must not import torch.
_HOMES = {
    "Atlas": "headatlas.results.atlas",
    "Comparison": "headatlas.results.comparison",
    "Model": "headatlas.models.model",
    "NotebookPage": "headatlas.views.notebook",
    "compare": "headatlas.commands.compare",
    "Crew": "headatlas.engine.workers",
    "Store": "headatlas.store.reading",
    "ablate": "headatlas.commands.ablate.run",
    "draw": "headatlas.commands.draw.run",
    "explore": "headatlas.commands.explore.run",
    "extract": "headatlas.commands.survey",
    "fit_mlm": "headatlas.commands.fit_mlm.run",
    "head_view": "headatlas.views.notebook",
    "import_maps": "headatlas.commands.survey",
    "keyphrases": "headatlas.commands.keyphrases",
    "layers": "headatlas.commands.layers",
    "load_model": "headatlas.models.loading",
    "merge": "headatlas.commands.merge.run",
    "observe_network": "headatlas.models.observing",
    "observe_words": "headatlas.store.word_maps",
    "open_atlas": "headatlas.results.atlas",
    "open_comparison": "headatlas.results.comparison",
    "open_store": "headatlas.store.reading",
    "prune": "headatlas.commands.prune.run",
    "probe": "headatlas.commands.probe",
    "reproduce": "headatlas.commands.reproduce",
    "sample_text": "headatlas.corpora.sample",
    "sample_treebank": "headatlas.corpora.sample",
    "show_atlas": "headatlas.views.notebook",
    "survey": "headatlas.commands.survey",
    "write_figures": "headatlas.views.figures.write",
    "write_page": "headatlas.views.page",
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
