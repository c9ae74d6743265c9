"""Claims of the paper and the lectures that other commands answer, or that a reproduction does not run."""

from __future__ import annotations

from headatlas.commands.reproduce.claims.claim import Answer, Claim, Tables


def _nothing(_: Tables) -> Answer | None:
    return None


def _elsewhere(number: int, place: str, item: str, lacking: str, published: str = "yes") -> Claim:
    return Claim(number, place, item, ("elsewhere",), "by the command named", _nothing, published, lacking=lacking)


ELSEWHERE = (
    _elsewhere(8, "section 3.2", "the uncased model is alike", "headatlas compare, with a survey of the other model"),
    _elsewhere(35, "section 7", "heads with a known behaviour matter most", "headatlas ablate --atlas"),
    _elsewhere(36, "figures 1 and 5", "heads at work on single sentences", "a reader: the figures are drawn"),
    _elsewhere(37, "lecture", "tasks are solved in the order of the classical pipeline", "headatlas layers"),
    _elsewhere(38, "lecture", "syntax is localised in layers, semantics spread out", "headatlas layers"),
    _elsewhere(39, "lecture", "few heads matter for translation (p < 0.01)", "headatlas ablate --task translation"),
    _elsewhere(
        40, "lecture", "heads that matter on one data set matter on another", "headatlas ablate, with two data sets"
    ),
    _elsewhere(41, "lecture", "harder tasks bear fewer removals", "headatlas ablate, with several tasks"),
    _elsewhere(
        42, "lecture", "pruning by importance is as good as by single removals", "headatlas ablate and headatlas prune"
    ),
    _elsewhere(43, "lecture", "heads find keyphrases", "headatlas keyphrases", ".36 and .37"),
)
