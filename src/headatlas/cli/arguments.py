"""Options that take several values in a row, as people type them: ``--text a.txt b.txt``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SEVERAL = frozenset({"--text", "--treebank", "--coreference", "--studies", "--head", "--red", "--import"})
SEVERAL |= {"--eval", "--probes", "--task", "--data", "--train", "--pairs", "--columns", "--sets", "--heads"}
SEVERAL |= {"--keyphrases"}
SEVERAL |= {"--wikipedia", "--ptb-train", "--ptb-dev", "--conll2012"}
WITHOUT_MODEL = frozenset({"--maps", "--maps-train", "--import", "--check"})


def spread(arguments: Sequence[str]) -> list[str]:
    """Repeat an option before each of its values, which is the form that the parser knows.

    >>> spread(["survey", "bert", "--text", "a.txt", "b.txt", "--out", "atlas"])
    ['survey', 'bert', '--text', 'a.txt', '--text', 'b.txt', '--out', 'atlas']

    Only where the positional arguments come first: after ``survey --text a.txt`` a further word is the MODEL, unless an
    option stands in its place, as in ``extract --import a.npz b.npz``.
    """
    if len(arguments) > 1 and arguments[1].startswith("-") and not WITHOUT_MODEL & set(arguments):
        return list(arguments)
    return list(_spread(arguments))


def _spread(arguments: Sequence[str]) -> Iterator[str]:
    option = ""
    for place, argument in enumerate(arguments):
        if argument.startswith("-"):
            option = argument if argument in SEVERAL else ""
        elif option and arguments[place - 1] != option:
            yield option
        yield argument
