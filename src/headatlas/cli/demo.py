"""headatlas demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="The atlas folder to make.")] = Path("atlas-demo"),
) -> None:
    """Survey the embedded model on the embedded sample; ends with an atlas to look at.

    Needs no network: the model is all-MiniLM-L6-v2 from the Python package index (extra `embedded`), the text ships
    with headatlas.
    """
    from headatlas.cli.report import finish
    from headatlas.corpora.sample import sample_text
    from headatlas.surveying import survey

    finish(survey("embedded", text=sample_text(), out=out), draw=True)
