"""Studies that are given as objects: everything that studies with a name have, without installing anything."""

from __future__ import annotations

import inspect

import pytest
import torch

import headatlas as ha
from headatlas.errors import AtlasError, PluginError, SettingError
from headatlas.studies import STUDIES

TABLE = ha.Table(
    "to_first",
    "How much attention goes to the first token?",
    (*ha.ONE_HEAD, ha.Value("value", "mean attention, 0 to 1", "share"), *ha.VALUE_INTERVAL, ha.COUNT),
    label="attention to the first token",
)


class ToFirst(ha.SegmentMeans):
    """Mean attention to the first token."""

    name = "to_first"
    tables = (TABLE,)
    patterns = (ha.Pattern("sink", "the first token", "to_first", least=0.0),)
    factor = 1.0

    def segment_means(self, layer_map: ha.LayerMap) -> torch.Tensor:
        real = layer_map.batch.mask[:, None].to(layer_map.weights)
        return self.factor * ((layer_map.weights[..., 0] * real).sum(-1) / real.sum(-1)).unsqueeze(-1)


class Failing(ToFirst):
    """Fails at its first batch."""

    name = "failing"

    def end_batch(self, batch: ha.Batch) -> None:
        raise ValueError("not today")


class Taken(ToFirst):
    """Has the name of a study that exists."""

    name = "entropy"


@pytest.fixture
def survey(tiny_folder, tmp_path):
    def survey(out, *studies, family="bert", **options):
        small = {"segments": 6, "max_tokens": 40, "examples": 3, "bootstrap": 20, "device": "cpu", "progress": False}
        folder = tmp_path / out
        return ha.survey(
            tiny_folder(family), text=ha.sample_text(), out=folder, studies=list(studies), **small | options
        )

    return survey


def test_a_study_given_as_an_object_has_tables_labels_findings_page_and_comparison(survey, tmp_path, monkeypatch):
    a, b = survey("a", "positions", ToFirst()), survey("b", ToFirst(), "positions", family="roberta")
    assert list(a.tables) == ["positions", "to_first", "behaviours"]
    assert a.manifest["computed_in"] == {"text": "whole maps, for to_first"}
    assert "sink" in set(a.tables["behaviours"]["label"])
    page = ha.write_page(a).read_text(encoding="utf-8")
    assert "on the first token" in page
    assert "attention to the first token" in page
    assert TABLE.question in a._repr_html_()
    differences = ha.compare(a, b, out=tmp_path / "ab", device="cpu").tables["differences"]
    assert differences.query("table == 'to_first'")["low"].notna().all()
    assert "to_first" not in list(STUDIES)  # a later survey does not run it unasked


def test_a_study_whose_code_or_attributes_changed_is_another_one(survey):
    survey("a", ToFirst())
    assert survey("a", ToFirst()).complete
    other = ToFirst()
    other.factor = 0.5
    with pytest.raises(AtlasError, match="other code of studies"):
        survey("a", other)


def test_an_object_that_fails_is_named_by_its_class(survey):
    atlas = survey("a", "positions", Failing())
    assert atlas.manifest["studies_skipped"]["failing"].endswith("test_objects.Failing failed: ValueError: not today")
    assert list(atlas.tables) == ["positions", "behaviours"]
    with pytest.raises(PluginError, match=r"None of the chosen studies could run\. failing: .*Failing failed: Value"):
        survey("b", Failing())


def test_what_is_not_a_study_is_refused(survey):
    with pytest.raises(SettingError, match=r"ToFirst is not a study\. .* objects such as ToFirst\(\)"):
        survey("a", ToFirst)
    with pytest.raises(SettingError, match="Two studies are called 'entropy'"):
        survey("a", Taken())
    with pytest.raises(SettingError, match="Two studies are called 'to_first'"):
        survey("a", ToFirst(), ToFirst())


def test_the_signature_says_that_objects_may_be_given():
    assert "Study" in str(inspect.signature(ha.survey).parameters["studies"])
