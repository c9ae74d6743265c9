"""What `draw` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from headatlas.commands.draw.options import DrawOptions
from headatlas.commands.shared.options import list_names
from headatlas.commands.shared.report import Written
from headatlas.models.stacks import parse_head
from headatlas.views.figures.style import picture_file, save_figure


def report_draw(figure: Figure, options: DrawOptions, _printing: object) -> Iterator[Written]:
    """Say where the picture is; without --out, save it under the names of its heads."""
    if options.out is not None:
        picture = Path(options.out)
    else:
        names = ["-".join(map(str, parse_head(name))) for name in list_names(options.head) or ()]
        stem, form = picture_file(Path(f"head_{'_'.join(names)}.png"))
        (picture,) = save_figure(figure, stem, (form,))
    explore = f"headatlas explore {options.model}", "every head on a text of your own, in a browser"
    yield Written(picture, files=(picture,), next=(explore,))
