"""Folders of other commands (`--results`): which claims they answer, of which model, and beside which control."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from headatlas.choices import RandomWeights
from headatlas.commands.reproduce.claims import OF_COMMANDS, Tables
from headatlas.commands.shared.models import split_revision
from headatlas.corpora.files import name_files
from headatlas.errors import AtlasError
from headatlas.models.sources import find_source
from headatlas.results.atlas import open_results
from headatlas.results.naming import model_named

ANY_MODEL = "any_"  # before the names of tables that may be of another model
TRAINED = "trained"  # instead of a kind of random weights
ANSWERING = (*OF_COMMANDS, "survey")
ResultTables = dict[str, dict[str, pd.DataFrame]]
"""Tables by the kind of weights, or TRAINED, and by name."""


def read_results(folders: Sequence[str | Path], model: str) -> ResultTables:
    """Read the tables of other commands.

    The column `source` names the command, model and files of a row. A survey is one of another model, with which every
    network is compared.

    Raises:
        AtlasError: A folder is not finished, or answers no claim about the model.
    """
    read: ResultTables = defaultdict(dict)
    has_weights = _weights_of(model) if folders else bool
    for folder in folders:
        results = open_results(folder)
        manifest, command = results.manifest, results.manifest["command"]
        if command not in ANSWERING:
            raise AtlasError(f"{folder}: no claim is about results of {command}. Give those of {', '.join(ANSWERING)}.")
        described, own = manifest["model"], has_weights(manifest["model"])
        kind = (described.get("random_weights") or {}).get("kind", TRAINED)
        named = model_named(described) + ("" if kind == TRAINED else f" with {kind} random weights")
        wanted = [name for name in results.tables if command != "survey" or name == "token_kinds"]
        tables = {name: results.tables[name] for name in wanted}
        tables[f"{command}_manifest"] = pd.json_normalize(dict(manifest))
        if command == "survey" and (own or kind != TRAINED):
            raise AtlasError(f"{folder}: is a survey of {named}. Give one of another model with trained weights.")
        of_any_model = command == "survey" or _answers_of_any_model(command, tables)
        if not own and not of_any_model:
            raise AtlasError(f"{folder}: is about {named}, not {model}. Give results of {command} for {model}.")
        files = name_files([record for about in manifest["corpora"].values() for record in about.get("files", ())])
        for name, frame in tables.items():
            sourced = frame.assign(source=f"{command} of {named}" + (f" on {files}" if files else ""))
            parts = {kind: sourced}
            if command == "survey":
                parts = dict.fromkeys((TRAINED, *get_args(RandomWeights)), sourced)
            elif control := manifest["settings"].get("control") if "weights" in frame else None:
                is_random = frame["weights"] == "random"
                parts = {kind: sourced[~is_random], control: sourced[is_random]}
            for weights, part in parts.items():
                for prefix in [""] * own + [ANY_MODEL] * of_any_model:
                    known = read[weights].get(prefix + name)
                    read[weights][prefix + name] = pd.concat([known, part], ignore_index=True)
    return read


def sources_of(tables: Tables) -> list[str]:
    """The commands, models and files that some tables are of."""
    return list(dict.fromkeys(source for table in tables.values() if "source" in table for source in table["source"]))


def _weights_of(model: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a described model has the weights of this one. Weights of the hub are known by name until loaded."""
    name, revision = split_revision(model)
    weights = find_source(name, revision).fingerprint()
    return lambda described: bool(described.get("weights_sha256") == weights if weights else described["name"] == name)


def _answers_of_any_model(command: str, tables: Tables) -> bool:
    claims = [claim for claim in OF_COMMANDS[command] if claim.tables[0].startswith(ANY_MODEL)]
    return any(claim.ask({ANY_MODEL + name: table for name, table in tables.items()}) for claim in claims)
