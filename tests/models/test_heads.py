"""Heads by name."""

from __future__ import annotations

import pytest

from headatlas.errors import SettingError
from headatlas.models.facts import describe_model
from headatlas.models.stacks import HeadShape, check_head, parse_head


@pytest.mark.parametrize(("name", "head"), [("8-10", (8, 10)), (" 1-1 ", (1, 1)), ("0-3", (0, 3))])
def test_names(name, head):
    assert parse_head(name) == head


@pytest.mark.parametrize("name", ["", "8", "8.10", "-1-2", "8-", "a-b", "8-10-1", "٣-1", "8 - 10"])
def test_what_is_no_head_is_refused(name):
    with pytest.raises(SettingError, match="8-10"):
        parse_head(name)


@pytest.mark.parametrize("head", [(0, 1), (7, 1), (1, 0), (6, 13)])
def test_a_head_the_model_has_not(head):
    with pytest.raises(SettingError, match="embedded has 6 layers x 12 heads: 1-1 to 6-12"):
        check_head(*head, HeadShape((12,) * 6), "embedded")


def test_layers_of_different_width():
    shape = HeadShape((4, 2))
    check_head(1, 4, shape, "pruned")
    with pytest.raises(SettingError, match="There is no head 2-3: that layer has 2 heads"):
        check_head(2, 3, shape, "pruned")


@pytest.mark.parametrize(("family", "shared"), [("bert", 1), ("gpt2", 1), ("llama", 2), ("gemma2", 2)])
def test_heads_that_share_keys_and_values(family, shared, load_tiny):
    model = load_tiny(family)
    assert model.heads_per_key == shared
    assert describe_model(model, model.default_stack)["heads_per_key"] == shared
