"""What the lectures claim of layers, for the list of claims that `reproduce` prints.

Two tasks are in order where `layer_order` settles it: corrected, and not with shuffled labels. Of random weights
(`layers --control`) there are only the summaries, so their order is settled where intervals lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

from headatlas.commands.reproduce.claim import Answer, Claim, Estimate, Tables

PIPELINE = {"pos": 0, "dependencies": 1, "arcs": 1, "entities": 2, "coreference": 3}
"""Tasks by their place: Tenney et al. 2019 name parts of speech, parsing, entities, coreference."""
SPREAD = {"entities": 0, "coreference": 0, "relations": 0, "pos": 1, "dependencies": 1, "arcs": 1}
"""Semantic tasks below syntactic ones: they diverge less from equal weights."""
FEWEST_PAIRS = 3
ENDS = {"centre_of_gravity": "centre", "expected_layer": "expected", "kl": "kl"}  # measure -> its interval's columns


def in_order(measures: tuple[str, ...], places: Mapping[str, int]) -> Callable[[Tables], Answer | None]:
    """Ask whether most pairs of tasks are settled in this order by each measure, and none in the other."""

    def ask(tables: Tables) -> Answer | None:
        summary = tables["layer_summary"].query("mix == 'layers'").set_index("task")
        tasks = sorted(set(summary.index) & set(places), key=lambda task: places[task])
        pairs = {pair for pair in permutations(tasks, 2) if places[pair[0]] < places[pair[1]]}
        if "layer_order" in tables:
            withheld = tables["layer_order"].query("withheld != ''")[["below", "above"]]
            pairs -= {pair for ends in withheld.to_numpy() for pair in permutations(ends)}
        holds, figures = True, []
        for measure in measures:
            settled = set(_settled(tables, measure))
            right, wrong = len(pairs & settled), len(pairs & {pair[::-1] for pair in settled})
            holds &= right > len(pairs) / 2 and not wrong
            known = summary.loc[tasks, measure].dropna()
            values = ", ".join(f"{task} {value:.2f}" for task, value in known.items()) or "no values"
            figures.append(f"{measure.replace('_', ' ')} {right} of {len(pairs)} pairs, {wrong} against ({values})")
        return Answer(holds, "; ".join(figures)) if len(pairs) >= FEWEST_PAIRS else None

    return ask


def _settled(tables: Tables, measure: str) -> Iterator[tuple[str, str]]:
    """Pairs of tasks of which the second surely has the larger measure."""
    if "layer_order" in tables:
        order = tables["layer_order"].query(f"mix == 'layers' and settled and measure == '{measure}'")
        yield from zip(order["below"], order["above"], strict=True)
        return
    columns = [measure, *(f"{ENDS[measure]}_{end}" for end in ("low", "high"))]
    solved = tables["layer_summary"].query("mix == 'layers' and lead_low > 0").set_index("task")[columns]
    for lower, upper in permutations(solved.index, 2):
        if Estimate(*solved.loc[upper]).minus(Estimate(*solved.loc[lower])).low > 0:
            yield lower, upper


RULE = "more than half of the pairs of tasks are settled in this order, none in the other"
LACKING = "--results of headatlas layers, with "
CLAIMS = (
    Claim(37, "lecture", "tasks are solved in the order of the classical pipeline", ("layer_summary",),
          f"by centre of gravity and by expected layer, {RULE}", in_order(("centre_of_gravity", "expected_layer"),
          PIPELINE), lacking=f"{LACKING}three tasks of the pipeline"),
    Claim(38, "lecture", "syntax is localised in layers, semantics spread out", ("layer_summary",),
          f"by divergence from equal weights, {RULE}", in_order(("kl",), SPREAD),
          lacking=f"{LACKING}three pairs of a syntactic and a semantic task"),
)  # fmt: skip
