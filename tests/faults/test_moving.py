"""Nothing stands still: every long command reports to the progress display after every small piece of work.

The clock is the work itself: a layer's pass takes a quarter of a second on it, a training step a second, a picture one.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from headatlas import progress
from headatlas.cli.app import main
from headatlas.views.figures import style
from long_commands import NAMES

LONGEST = 2.0  # seconds that a bar may stand still
LAYER, STEP, PICTURE = 0.25, 1.0, 1.0


class Watcher:
    """Measures how long nothing moves."""

    def __init__(self) -> None:
        self.now = self.latest = 0.0
        self.stages: list[str] = []
        self.still: list[tuple[float, str]] = [(0.0, "")]

    def begin(self, stage: progress.Stage) -> None:
        self.stages.append(stage.name)
        self.update(stage)

    def update(self, stage: progress.Stage) -> None:
        self.still.append((self.now - self.latest, stage.name))
        self.latest = self.now

    def end(self, stage: progress.Stage, finished: bool) -> None:
        assert finished
        self.update(stage)


@contextmanager
def counting_work(watcher, monkeypatch):
    """Let the clock of the display go with the work that is done."""

    def passed(module, _inputs):
        watcher.now += LAYER * (type(module).__name__ == "BertLayer")

    def drawn(*arguments):
        watcher.now += PICTURE
        return save(*arguments)

    def stepped(optimizer, _arguments, _named):
        watcher.now += STEP

    save = style._save
    monkeypatch.setattr(style, "_save", drawn)
    monkeypatch.setattr(progress, "clock", lambda: watcher.now)
    hooks = [
        register_module_forward_pre_hook(passed),
        register_optimizer_step_post_hook(stepped),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("name", [*NAMES, "figures", "page"])
def test_every_long_command_moves_with_every_unit_of_work(name, typed, tmp_path, monkeypatch):
    watcher = Watcher()
    atlas = typed["compare"][0]
    written = {name: [*words, "--out", str(tmp_path / "out")] for name, words in typed.items()}
    written |= {"figures": [atlas, "--out", str(tmp_path)], "page": [atlas]}
    with counting_work(watcher, monkeypatch), progress.showing(watcher):
        main([name, *written[name]])
    assert watcher.now > 0 or name in ("merge", "page"), "no work was counted"
    longest, where = max(watcher.still)
    assert longest <= LONGEST, f"{where}: {longest} s; stages: {watcher.stages}"
    assert watcher.stages
