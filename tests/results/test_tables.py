"""Every table that is known here: what it says of itself, and its types, with every version of pandas."""

import inspect
import re
from importlib import import_module
from typing import get_args

import pandas as pd
import pytest

from headatlas.errors import PluginError
from headatlas.results.tables import TABLES, KnownTables
from headatlas.tables import ONE_HEAD, Table, Unit, Value


def test_a_missing_text_stays_missing_on_disk_too(tmp_path):
    kinds = TABLES["probes"].dtypes
    numbers = {column: [True] * 3 for column, kind in kinds.items() if kind != "str"}
    frame = pd.DataFrame(numbers | {"probe": ["right_branching", "attention", "attention"]})
    frame["weights"] = pd.Series([None, "random", float("nan")], dtype=object)
    typed = TABLES["probes"].conform(frame)
    assert typed["weights"].isna().tolist() == [True, False, True]
    typed.to_parquet(tmp_path / "probes.parquet")
    assert pd.read_parquet(tmp_path / "probes.parquet")["weights"].isna().tolist() == [True, False, True]
    assert frame["weights"].tolist()[:2] == [None, "random"]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_says_what_it_is(table):
    """Question, meanings and units in words; and every name in its declaration is one of its own."""
    assert re.match(r"[A-Z].*\?", table.question)
    assert all(column.about for column in table.columns)
    assert all(value.unit in get_args(Unit) for value in table.measures)
    assert len(set(table.names)) == len(table.names)
    values = {column.name for column in table.columns if isinstance(column, Value)}
    assert {value.bound_of for value in table.columns if isinstance(value, Value)} <= {"", *values}
    assert table.main in {"", *(value.name for value in table.measures)}
    templates = [table.label, table.short, *(value.label for value in table.measures)]
    assert set(re.findall(r"{(\w+)}", "".join(templates))) <= {"value", *table.own_keys}
    for key in table.keys:
        fields = re.findall(r"{(\w+)}", "".join([*key.labels.values(), *key.short.values()]))
        assert set(fields) <= {"cls", "sep"}
        assert bool(key.not_compared) == bool(key.why_not)
    if table.rows == "heads" and table.measures:
        assert all(value.label or table.label for value in table.measures)
    if table.panels:
        assert set(table.panels) <= {*table.keys[-1].labels, table.keys[-1].usual}


@pytest.mark.parametrize("table", [table for table in TABLES.values() if table.figure], ids=lambda table: table.name)
def test_the_functions_that_draw_tables_exist(table):
    stem, place = table.figure
    module, _, function = place.partition(":")
    assert stem.isidentifier()
    assert {"results", "title", "size"} <= set(inspect.signature(getattr(import_module(module), function)).parameters)


def test_tables_know_their_command_and_corpus():
    assert TABLES.made["ablation"][1:3] == ("ablate", "")
    assert TABLES.made["dependency_best"][1:3] == ("survey", "treebank")
    assert TABLES.made["behaviours"][1:3] == ("survey", "")


class Sinks:
    """What counts of a study of somebody else's."""

    name = "sinks"
    corpus = "text"
    tables = (
        Table("sinks", "Where does attention sink?", (*ONE_HEAD, Value("value", "how much", "share"))),
        Table("ablation", "Is this name taken?", ONE_HEAD),
    )


class Installed(dict):
    """Studies of which one cannot be imported."""

    def __getitem__(self, name):
        if name == "broken":
            raise PluginError("The study 'broken' cannot be imported.")
        return super().__getitem__(name)


def test_a_study_that_cannot_be_imported_takes_no_other_table_with_it(monkeypatch):
    monkeypatch.setattr("headatlas.results.tables.STUDIES", Installed(broken=None, sinks=Sinks))
    known = KnownTables()
    assert known["sinks"].question == "Where does attention sink?"
    assert known.made["sinks"].corpus == "text"
    assert known["ablation"] is TABLES["ablation"]


def test_a_study_that_is_not_installed_can_be_added():
    known = KnownTables()
    assert "sinks" not in known
    known.give(Sinks)
    assert known["sinks"].name == "sinks"
    assert known["ablation"] is TABLES["ablation"]
