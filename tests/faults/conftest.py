"""What the tests of interrupted commands share: every long command, typed, and a server that has imported it all."""

from __future__ import annotations

import pytest

from lives import begin
from long_commands import commands, make_inputs


@pytest.fixture(scope="session")
def typed(tiny_folder, save_tiny, tmp_path_factory):
    """The arguments of every long command, by its name."""
    folder = tmp_path_factory.mktemp("inputs")
    model = str(tiny_folder("bert"))
    make_inputs(folder, model)
    begin(int).join()  # the server imports once, so that no command is timed with it
    return commands(folder, model, str(save_tiny("bert", head=False)))
