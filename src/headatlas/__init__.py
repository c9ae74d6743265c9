"""headatlas: an atlas of a transformer's attention heads.

>>> import headatlas as ha
>>> atlas = ha.survey("bert-base-uncased", text="wiki.txt", out="atlas")   # doctest: +SKIP
>>> atlas.tables["positions"].query("offset == -1").nlargest(5, "value")   # doctest: +SKIP
>>> ha.write_figures(atlas)                                                 # doctest: +SKIP
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headatlas.errors import HeadatlasError as HeadatlasError

if TYPE_CHECKING:
    from headatlas.commands.ablate.options import ablate as ablate
    from headatlas.commands.ablate.task import ExampleBatch as ExampleBatch
    from headatlas.commands.ablate.task import Task as Task
    from headatlas.commands.ablate.tasks import Needs as Needs
    from headatlas.commands.compare.options import compare as compare
    from headatlas.commands.draw.options import draw as draw
    from headatlas.commands.explore.options import explore as explore
    from headatlas.commands.extract.options import extract as extract
    from headatlas.commands.extract.run import import_maps as import_maps
    from headatlas.commands.fit_mlm.options import fit_mlm as fit_mlm
    from headatlas.commands.keyphrases.options import keyphrases as keyphrases  # type: ignore[import-not-found, unused-ignore]
    from headatlas.commands.layers.options import layers as layers
    from headatlas.commands.merge.options import merge as merge
    from headatlas.commands.probe.options import probe as probe
    from headatlas.commands.prune.options import prune as prune
    from headatlas.commands.reproduce.options import reproduce as reproduce
    from headatlas.commands.survey.options import survey as survey
    from headatlas.corpora.sample import sample_text as sample_text
    from headatlas.corpora.sample import sample_treebank as sample_treebank
    from headatlas.encoding.batches import Batch as Batch
    from headatlas.encoding.segments import Segment as Segment
    from headatlas.encoding.word_segments import WordSegment as WordSegment
    from headatlas.encoding.word_segments import word_segments as word_segments
    from headatlas.engine.corpora.kind import Corpus as Corpus
    from headatlas.engine.corpora.kind import CorpusKind as CorpusKind
    from headatlas.engine.corpora.kind import Gold as Gold
    from headatlas.engine.corpora.kind import Reading as Reading
    from headatlas.errors import CorpusError as CorpusError
    from headatlas.models.loading import load_model as load_model
    from headatlas.models.model import Model as Model
    from headatlas.models.observing import observe_network as observe_network
    from headatlas.models.tiles import Tile as Tile
    from headatlas.results.atlas import Atlas as Atlas
    from headatlas.results.atlas import open_atlas as open_atlas
    from headatlas.results.comparison import Comparison as Comparison
    from headatlas.results.comparison import open_comparison as open_comparison
    from headatlas.results.comparison import open_results as open_results
    from headatlas.results.folder import Results as Results
    from headatlas.store.reading import Store as Store
    from headatlas.store.reading import open_store as open_store
    from headatlas.store.word_maps import observe_words as observe_words
    from headatlas.studies.findings import Finding as Finding
    from headatlas.studies.labels import Label as Label
    from headatlas.studies.labels import Pattern as Pattern
    from headatlas.studies.reductions import Reduction as Reduction
    from headatlas.studies.reductions import Surface as Surface
    from headatlas.studies.segment_means import SegmentMeans as SegmentMeans
    from headatlas.studies.state import State as State
    from headatlas.studies.study import LayerMap as LayerMap
    from headatlas.studies.study import Setup as Setup
    from headatlas.studies.study import Study as Study
    from headatlas.tables import COUNT as COUNT
    from headatlas.tables import ONE_HEAD as ONE_HEAD
    from headatlas.tables import VALUE_INTERVAL as VALUE_INTERVAL
    from headatlas.tables import Key as Key
    from headatlas.tables import Table as Table
    from headatlas.tables import Value as Value
    from headatlas.views import figures as figures
    from headatlas.views.attention import Attention as Attention
    from headatlas.views.attention import attention as attention
    from headatlas.views.figures.write import write_figures as write_figures
    from headatlas.views.notebook import NotebookPage as NotebookPage
    from headatlas.views.notebook import head_view as head_view
    from headatlas.views.notebook import show_atlas as show_atlas
    from headatlas.views.page import write_page as write_page

    __version__: str

# Where each public name lives, but for the commands, which say so themselves. A name is imported when it is first used:
# importing headatlas must not import torch.
_HOMES = {
    "Atlas": "results.atlas",
    "Attention": "views.attention",
    "Batch": "encoding.batches",
    "COUNT": "tables",
    "Comparison": "results.comparison",
    "Corpus": "engine.corpora.kind",
    "CorpusError": "errors",
    "CorpusKind": "engine.corpora.kind",
    "ExampleBatch": "commands.ablate.task",
    "Finding": "studies.findings",
    "Gold": "engine.corpora.kind",
    "Key": "tables",
    "Label": "studies.labels",
    "LayerMap": "studies.study",
    "Model": "models.model",
    "Needs": "commands.ablate.tasks",
    "NotebookPage": "views.notebook",
    "ONE_HEAD": "tables",
    "Pattern": "studies.labels",
    "Reading": "engine.corpora.kind",
    "Reduction": "studies.reductions",
    "Results": "results.folder",
    "Segment": "encoding.segments",
    "SegmentMeans": "studies.segment_means",
    "Setup": "studies.study",
    "State": "studies.state",
    "Store": "store.reading",
    "Study": "studies.study",
    "Surface": "studies.reductions",
    "Table": "tables",
    "Task": "commands.ablate.task",
    "Tile": "models.tiles",
    "VALUE_INTERVAL": "tables",
    "Value": "tables",
    "WordSegment": "encoding.word_segments",
    "attention": "views.attention",
    "figures": "views.figures",
    "head_view": "views.notebook",
    "import_maps": "commands.extract.run",
    "load_model": "models.loading",
    "observe_network": "models.observing",
    "observe_words": "store.word_maps",
    "open_atlas": "results.atlas",
    "open_comparison": "results.comparison",
    "open_results": "results.comparison",
    "open_store": "store.reading",
    "sample_text": "corpora.sample",
    "sample_treebank": "corpora.sample",
    "show_atlas": "views.notebook",
    "word_segments": "encoding.word_segments",
    "write_figures": "views.figures.write",
    "write_page": "views.page",
}


@cache
def _homes() -> dict[str, str]:
    """Return the module of every public name."""
    from headatlas.commands.shared.entry import list_entries

    return _HOMES | {name: f"commands.{name}.options" for name, entry in list_entries().items() if entry.in_python}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than the rest of this file

        return version("headatlas")
    if name == "__all__":
        return ["HeadatlasError", "__version__", *_homes()]
    if name in _homes():
        module = import_module(f"headatlas.{_homes()[name]}")
        return module if name == "figures" else getattr(module, name)
    raise AttributeError(f"module 'headatlas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
