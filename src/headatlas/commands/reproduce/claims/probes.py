"""Table 3 and section 5: what trained probes find in attention, words and hidden states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headatlas.commands.reproduce.claim import MARGINS, Answer, Claim, Estimate, Tables, number
from headatlas.tables import records
from headatlas.views.published.compare import NAMES, summarise_probes
from headatlas.views.published.tables import published_probes

PROBES, USED = ("probes",), ("probe_relation_heads",)
FAR_BELOW = 0.2
NEAR = 0.1
BOTH, RANDOM = ("attention_words", "pretrained"), ("attention_words", "random")
STATES = ("structural_distance", "pretrained")
Name = tuple[str, str]  # of a probe, and the weights that it reads


def scores_of(tables: Tables) -> dict[Name, dict[Any, Any]]:
    """Every probe's scores, means over seeds."""
    return {(row["probe"], row["weights"]): row for row in records(summarise_probes(tables["probes"]))}


def table_3() -> Iterator[Claim]:
    """The score of every probe. What reads no trained network is a check of the corpus."""
    for row in records(published_probes().fillna({"weights": ""})):
        key = (row["probe"], row["weights"])
        yield number(29, "table 3", NAMES[key], 100 * row["score"], "%", PROBES, _reader(key),
                     margin=MARGINS["table 3"], decided_by="model" if key[1] == "pretrained" else "corpus",
                     lacking="--glove")  # fmt: skip


def _reader(key: Name) -> Callable[[Tables], Estimate | None]:
    def read(tables: Tables) -> Estimate | None:
        row = scores_of(tables).get(key)
        return None if row is None else Estimate(*(100 * row[name] for name in ("score", "low", "high")))

    return read


def of_random_weights(tables: Tables) -> Tables:
    """The tables of the probes as if random weights were the model."""
    of_network = {name: tables[name].query("weights == 'random'") for name in (*PROBES, *USED) if name in tables}
    return {name: table.assign(weights="pretrained") for name, table in of_network.items() if len(table)}


def above_baselines(tables: Tables) -> Answer | None:
    """Does attention with words beat right-branching, distances with words and random weights, intervals apart?"""
    scores = scores_of(tables)
    names = [("right_branching", ""), ("distances_words", ""), RANDOM]
    if any(name not in scores for name in [BOTH, *names]):
        return None
    highest = max((scores[name] for name in names), key=lambda row: float(row["high"]))
    figures = f"{100 * scores[BOTH]['score']:.1f}, and {highest['name']} {100 * highest['score']:.1f}"
    return Answer(bool(scores[BOTH]["low"] > highest["high"]), figures)


def above_random(tables: Tables) -> Answer | None:
    """Is attention of random weights far below?"""
    trained, random = (_reader(name)(tables) for name in (BOTH, RANDOM))
    if trained is None or random is None:
        return None
    return Answer(trained.minus(random).low > 100 * FAR_BELOW, f"{trained.value:.1f} and {random.value:.1f}")


def near_structural(tables: Tables) -> Answer | None:
    """Do the structural probe and attention with words find about as many edges, and random weights far fewer?"""
    scores, beyond = scores_of(tables), above_random(tables)
    if STATES not in scores or beyond is None:
        return None
    states, attention = (_edges(scores[name]) for name in (STATES, BOTH))
    apart = states.minus(attention)
    near = apart.low > -100 * NEAR and apart.high < 100 * NEAR
    return Answer(near and beyond.holds, f"{states.value:.1f} and {attention.value:.1f} (UUAS)")


def _edges(row: dict[Any, Any]) -> Estimate:
    """UUAS, with as wide an interval as the score of the probe."""
    value = 100 * row["uuas"]
    return Estimate(value, *(value + 100 * (row[end] - row["score"]) for end in ("low", "high")))


def weighs_det(tables: Tables) -> Answer | None:
    """Is the head that the probe uses most for determiners the one that finds them best by itself?"""
    table = tables["probe_relation_heads"]
    rows = records(table[(table["probe"] == BOTH[0]) & (table["weights"] == BOTH[1]) & (table["relation"] == "det")])
    if not rows:
        return None
    heads = [f"{row['layer']}-{row['head']} (rank {row['rank']} alone, p = {row['p_holm']:.3f})" for row in rows]
    return Answer(all(row["named"] and row["rank"] == 1 for row in rows), ", ".join(heads))


SECTION_5 = (
    Claim(30, "section 5", "for a determiner and its noun the probe weighs the head for det", USED,
          "with every seed the head used most is the best one alone, and surely above the offset", weighs_det,
          lacking="--glove"),
    Claim(29, "section 5", "attention and words together do better than every baseline", PROBES,
          "its interval above those of all baselines", above_baselines, "77 and 58", decided_by="comparison",
          lacking="--glove"),
    Claim(29, "section 5", "random weights do far worse", PROBES, f"surely over {100 * FAR_BELOW:.0f} points below",
          above_random, "77 and 30", decided_by="comparison", lacking="--glove"),
    Claim(31, "section 5", "hidden states hold not much more syntax than attention does", PROBES,
          f"edges found surely less than {100 * NEAR:.0f} points apart, random weights far below", near_structural,
          "80 and 77", decided_by="comparison", lacking="--glove"),
)  # fmt: skip
