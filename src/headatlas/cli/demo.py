"""headatlas demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="The atlas folder to make.")] = Path("atlas-demo"),
) -> None:
    """Survey the embedded masked language model on the embedded sample; ends with an atlas to look at.

    Needs no network: the model is all-MiniLM-L6-v2 from the Python package index with a masked language model head
    that ships with headatlas (extra `embedded-mlm`), and so does the text.
    """
    from headatlas.cli.endings import finish
    from headatlas.commands.survey.run import survey
    from headatlas.corpora.sample import sample_text, sample_treebank

    trees = sample_treebank()
    finish(survey("embedded-mlm", text=sample_text(), treebank=trees, coreference=trees, out=out), draw=True)
