"""Tables of `headatlas layers` with made-up numbers: two tasks, a mix of heads, a random network."""

import numpy as np

from headatlas.results.tables import TABLES


def layer_tables(layers=4, tasks=("pos", "arcs"), text="he smoked [1 toronto] in [2 may]"):
    """layers: with the embeddings. The second task has heads too, the first a random network."""
    dice = np.random.default_rng(0)
    mix, summary = [], []
    kinds = [(task, "layers", "pretrained") for task in tasks]
    kinds += [(tasks[1], "heads", "pretrained"), (tasks[0], "layers", "random")]
    for number, (task, what, weights) in enumerate(kinds):
        scores = np.linspace(0.5, 0.9, layers) + np.where(np.arange(layers) == layers - 2, 0.2, 0)
        shares = dice.dirichlet(np.ones(layers))
        key = {"task": task, "mix": what, "weights": weights}
        for layer in range(layers):
            row = {"layer": layer, "weight": shares[layer], "cumulative": scores[layer]}
            row["differential"] = scores[layer] - scores[layer - 1] if layer else np.nan
            mix.append(key | row | {"low": scores[layer] - 0.1, "high": scores[layer] + 0.1})
        centres = {"centre_of_gravity": 1.0 + number, "centre_low": 0.9 + number, "centre_high": 1.2 + number}
        sure = {"lead": 0.3, "lead_low": 0.2, "lead_high": 0.4, "accuracy": scores[-1], "majority": scores[-1] - 0.3}
        spread = {"kl": 0.2, "kl_low": 0.15, "kl_high": 0.25, "kl_p": 0.001, "shuffled_kl": 0.05}
        null = {"shuffled_score": 0.1, "shuffled_centre": 1.5}
        summary.append(
            key | centres | sure | spread | null | {"score": scores[-1], "expected_layer": 1.5, "expected_low": -3.0}
        )
    order = [
        {"measure": "centre_of_gravity", "mix": "layers", "below": tasks[0], "above": tasks[1], "withheld": ""}
        | {"difference": 1.0, "low": 0.5, "high": 1.5, "p_value": 0.01, "p_holm": 0.01, "settled": True}
        | {"shuffled_p": 0.6, "shuffled_settled": False}
    ]
    examples = [
        {"task": task, "rank": rank, "id": "0.0.0", "text": text, "label": "ORG", "rival": "GPE", "movement": 1.5}
        | {"layer": layer, "probability": layer / layers, "rival_probability": 1 - layer / layers}
        for task in tasks
        for rank in (1, 2)
        for layer in range(layers)
    ]
    heads = [
        {"task": tasks[1], "weights": "pretrained", "layer": layer, "head": head, "direction": direction}
        | {"weight": 1 / (4 * (layers - 1))}
        for direction in ("first_to_second", "second_to_first")
        for layer in range(1, layers)
        for head in (1, 2)
    ]
    rows = {"layer_mix": mix, "layer_summary": summary, "layer_order": order, "layer_examples": examples}
    tables = {}
    for name, some in (rows | {"head_mix": heads}).items():
        whole = [column for column, kind in TABLES[name].dtypes.items() if kind == "int64"]
        tables[name] = TABLES[name].from_rows(some).fillna(dict.fromkeys(whole, 0))
    return tables
