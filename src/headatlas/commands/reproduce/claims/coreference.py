"""Table 2 and section 4.3: which heads find antecedents, beside rules without a model.

The paper says that a head chooses among all other words (section 4.1), so the reading `words` decides; what the same
network reaches among all mentions and among the mentions before stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from headatlas.commands.reproduce.claim import MARGINS, Answer, Claim, Estimate, Row, Tables, number
from headatlas.tables import records
from headatlas.views.published.compare import METHODS, READINGS, best_heads, head
from headatlas.views.published.tables import published_coreference

TABLES = ("coreference", "coreference_best", "coreference_baselines")
DECIDES, *OTHER_READINGS = READINGS
FAR = 0.1
NEAR = 0.1
RULES = ("nearest", "head_match", "sieves")
REWORDED = "reworded"  # mentions that share no head word with an antecedent
NEURAL = "a neural system that finds mentions itself, which is not part of this"


def antecedents(tables: Tables, candidates: str = DECIDES) -> dict[tuple[str, str], Row]:
    """How well each method, a head or a rule, finds antecedents, by method and type of mention."""
    heads = best_heads(tables["coreference"], tables["coreference_best"], candidates)
    rules = tables["coreference_baselines"].rename(columns={"baseline": "method"})
    return {(row["method"], row["mention_type"]): row for row in records(pd.concat([heads, rules]))}


def table_2() -> Iterator[Claim]:
    """For each way of choosing an antecedent the accuracy for each type of mention; and the best head."""
    for row in records(published_coreference()):
        method, kind = str(row["method"]), str(row["mention_type"])
        yield number(25, "table 2", f"{METHODS[method]}: {kind} mentions", 100 * row["accuracy"], "%",
                     ("neural",) if method == "neural" else TABLES, _reader(method, kind), margin=MARGINS["table 2"],
                     decided_by="model" if method in ("head", "neural") else "corpus",
                     lacking=NEURAL if method == "neural" else f"--conll2012 with {kind} mentions",
                     remark=_other_readings(kind) if method == "head" else lambda _: "")  # fmt: skip
    printed = published_coreference().query("method == 'head'").iloc[0]
    yield Claim(25, "table 2", "best head", TABLES, "the same head, surely above the same head word", _same_head,
                head(printed["layer"], printed["head"]), "head", lacking="--conll2012 with mentions")  # fmt: skip


def _reader(method: str, kind: str) -> Callable[[Tables], Estimate | None]:
    def read(tables: Tables) -> Estimate | None:
        row = antecedents(tables).get((method, kind))
        return None if row is None else Estimate(*(100 * row[name] for name in ("accuracy", "low", "high")))

    return read


def _other_readings(kind: str) -> Callable[[Tables], str]:
    def remark(tables: Tables) -> str:
        rows = {reading: antecedents(tables, reading).get(("head", kind)) for reading in OTHER_READINGS}
        figures = [f"{reading} {100 * row['accuracy']:.1f}" for reading, row in rows.items() if row]
        return f" ({', '.join(figures)})" if figures else ""

    return remark


def _same_head(tables: Tables) -> Answer | None:
    rows = antecedents(tables)
    best, rule = rows.get(("head", "all")), rows.get(("head_match", "all"))
    if best is None or rule is None:
        return None
    named = head(best["layer"], best["head"])
    printed = published_coreference().query("method == 'head'").iloc[0]
    same = named == head(printed["layer"], printed["head"])
    return Answer(same and best["low"] > rule["high"], named)


def _lead(tables: Tables, rival: str, kind: str = "all") -> tuple[Estimate, str] | None:
    """How far the best head is above a rule, and the two scores."""
    best, rule = (_reader(method, kind)(tables) for method in ("head", rival))
    return best and rule and (best.minus(rule), f"{best.value:.1f} and {rule.value:.1f}{_other_readings(kind)(tables)}")


def above_head_match(tables: Tables) -> Answer | None:
    """Does the best head beat the nearest mention with the same head word by far?"""
    lead = _lead(tables, "head_match")
    return lead and Answer(lead[0].low > 100 * FAR, lead[1])


def near_sieves(tables: Tables) -> Answer | None:
    """Is the best head neither far below nor far above the rules of four sieves?"""
    lead = _lead(tables, "sieves")
    return lead and Answer(lead[0].low > -100 * NEAR and lead[0].high < 100 * NEAR, lead[1])


def nominal(tables: Tables) -> Answer | None:
    """Is the best head's lead over the same head word large for nominal mentions, and largest there?"""
    leads = {kind: _lead(tables, "head_match", kind) for kind in ("pronoun", "proper", "nominal")}
    given = {kind: lead[0] for kind, lead in leads.items() if lead is not None}
    if len(given) < len(leads):
        return None
    largest = max(given, key=lambda kind: given[kind].value) == "nominal"
    figures = ", ".join(f"{kind} {lead.value:+.1f}" for kind, lead in given.items())
    return Answer(largest and given["nominal"].low > 100 * FAR, f"{figures} points")


def reworded(tables: Tables) -> Answer | None:
    """Does the best head find antecedents that share no head word with the mention, better than every rule?"""
    rows = antecedents(tables)
    best, rules = rows.get(("head_of_type", REWORDED)), [rows.get((rule, REWORDED)) for rule in RULES]
    given = [rule for rule in rules if rule is not None]
    if best is None or not given:
        return None
    highest = max(given, key=lambda rule: float(rule["accuracy"]))
    figures = f"{100 * best['accuracy']:.1f}, and {METHODS[highest['method']]} {100 * highest['accuracy']:.1f}"
    return Answer(bool(best["low"] > highest["high"]), figures)


def longer(tables: Tables) -> Answer | None:
    """Are the links of coreference longer than those of dependencies?"""
    links, words = tables["coreference_lengths"].query("links == 'all'"), tables["dependency_lengths"]
    words = words[words["relation"] == "all_but_root_punct"]
    if links.empty or words.empty:
        return None
    (link,), (arc,) = records(links), records(words)
    figures = "{}: median {median} words, mean {mean:.1f}".format
    ours = f"{figures('links', **link)}; {figures('dependencies', **arc)}"
    return Answer(bool(link["lower_quartile"] > arc["median"]), ours)


MENTIONS = "--conll2012 with mentions of every type"
COREFERENCE = (
    Claim(25, "section 4.3", "a head finds antecedents over 10 points better than the same head word", TABLES,
          f"surely over {100 * FAR:.0f} points", above_head_match, "65 and 52", lacking=MENTIONS),
    Claim(26, "section 4.3", "and comes close to the rules of four sieves", TABLES,
          f"surely less than {100 * NEAR:.0f} points apart", near_sieves, "65 and 69", lacking=MENTIONS),
    Claim(27, "section 4.3", "it is particularly good with nominal mentions", TABLES,
          f"surely over {100 * FAR:.0f} points above the same head word, and furthest there", nominal, "58 and 40",
          lacking=MENTIONS),
    Claim(27, "section 4.3", "and matches synonyms: it finds antecedents with other head words", TABLES,
          "surely better than every rule without a model", reworded, lacking=MENTIONS),
    Claim(28, "section 4.3", "coreference links are longer than dependencies",
          ("coreference_lengths", "dependency_lengths"),
          "three quarters of the links are longer than the median dependency", longer, decided_by="corpus",
          lacking="a survey that measures links"),
)  # fmt: skip
