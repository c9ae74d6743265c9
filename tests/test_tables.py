"""A table says once what it is: columns, types, measures, labels, and what is compared."""

import pandas as pd
import pytest

from headatlas.errors import AtlasError
from headatlas.tables import COUNT, NO_EFFECT, ONE_HEAD, VALUE_INTERVAL, Key, Table, Value, format_label

KIND = Key("kind", "where it looks", labels={"cls": "{cls}", "both": "{cls} or {sep}"}, short={"both": "both"})
SOURCE = Key("source", "from where", usual="all", minor=("some",), not_compared=("none",), why_not="it is empty")
TABLE = Table(
    "looks",
    "Where do heads look?",
    (
        *ONE_HEAD,
        KIND,
        SOURCE,
        Value("value", "how often", "share"),
        *VALUE_INTERVAL,
        Value("bits", "how surely", "bits", label="certainty (bits)", minor=True),
        Value("p_value", "by chance", "probability", why_not=NO_EFFECT),
        Value("word", "the first", "text"),
        Value("kept", "whether it is kept", dtype="boolean"),
        COUNT,
    ),
    label="looks at {kind}[ from {source}]",
    short="{kind}",
    main="bits",
    panels=("all",),
)
ROW = {"kind": "both", "source": "all"}


@pytest.mark.parametrize(
    ("row", "special", "label"),
    [
        (ROW, {}, "looks at [CLS] or [SEP]"),
        (ROW, {"cls": "<s>", "sep": "</s>"}, "looks at <s> or </s>"),
        ({"kind": "new_kind", "source": "some"}, {}, "looks at new_kind from some"),
        ({"kind": "{cls} [x] {y}", "source": "all"}, {}, "looks at {cls} [x] {y}"),
        ({"kind": None, "source": None}, {}, "looks at  from "),
    ],
)
def test_labels_are_filled_with_words(row, special, label):
    assert format_label(TABLE.label, row, TABLE.keys, special) == label


def test_short_labels_are_those_of_the_keys():
    assert format_label(TABLE.short, ROW, TABLE.keys, {}, short=True) == "both"
    assert format_label(TABLE.short, {"kind": "cls"}, TABLE.keys, {}, short=True) == "[CLS]"


def test_the_main_measure_comes_first_and_the_rest_is_none():
    assert [value.name for value in TABLE.measures] == ["bits", "value"]
    assert (TABLE.rows, TABLE.own_keys) == ("heads", ("kind", "source"))
    assert TABLE.parts_not_compared == {"it is empty": ["none"], NO_EFFECT: ["p_value"]}


def test_a_measure_says_where_it_is_shown():
    bits, value = TABLE.measures
    assert TABLE.describe(value, ROW, {}) == {
        "label": "looks at [CLS] or [SEP]",
        "short": "both",
        "unit": "share",
        "main": False,
        "card": "More",
        "panel": False,
    }
    about = TABLE.describe(bits, ROW, {})
    assert (about["label"], about["short"], about["card"], about["panel"]) == (*["certainty (bits)"] * 2, None, True)
    assert TABLE.describe(value, ROW | {"source": "some"}, {})["card"] is None
    assert TABLE.describe(bits, ROW | {"source": "some"}, {})["panel"] is False


def test_frames_get_the_declared_columns_and_types():
    rows = [{"layer": 1, "head": 2, "kind": "cls", "value": 1, "count": 3, "word": None, "kept": True}]
    typed = TABLE.conform(TABLE.from_rows(rows))
    assert list(typed) == TABLE.names
    assert typed.dtypes["value"] == "float64"
    assert typed.dtypes["count"] == "int64"
    assert typed.dtypes["kept"] == "boolean"
    assert typed["word"].isna().all()
    assert TABLE.dtypes["layer"] == "int64"


@pytest.mark.parametrize("wrong", [{"bits": None}, {"more": 1.0}])
def test_missing_and_undeclared_columns_are_refused(wrong):
    frame = pd.DataFrame(columns=TABLE.names).assign(**wrong)
    frame = frame.drop(columns=[name for name, value in wrong.items() if value is None])
    with pytest.raises(AtlasError, match=f"looks.*{next(iter(wrong))}"):
        TABLE.conform(frame)
