"""Numbers as people read them: counts with their nouns, shares, sizes, and words where there is no number."""

from __future__ import annotations

import math


def counted(number: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> counted(1, "document"), counted(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def counted_reason(reason: str, number: int) -> str:
    """How often something was left out or changed, from the name that the manifest has for it: a noun and the rest.

    >>> counted_reason("token_cut_to_fit", 1223), counted_reason("sentence_with_cycle", 1)
    ('1,223 tokens cut to fit', '1 sentence with cycle')
    """
    noun, _, rest = reason.partition("_")
    return f"{counted(number, noun)} {rest.replace('_', ' ')}".rstrip()


def percent(share: float) -> str:
    """A share of 1 in whole percent; in words where there is none, which happens when a corpus is very small.

    >>> percent(0.553), percent(float("nan"))
    ('55 %', 'not measured')
    """
    return "not measured" if math.isnan(share) else f"{100 * share:.0f} %"


def fine_percent(share: float) -> str:
    """A share of 1 with one decimal; a small one is never written as nothing.

    >>> fine_percent(0.583), fine_percent(0.00002)
    ('58.3 %', 'under 0.1 %')
    """
    return "under 0.1 %" if 0 < share < 0.0005 else f"{share:.1%}".replace("%", " %")


def megabytes(number: int) -> str:
    """A number of bytes in the unit that suits it.

    >>> megabytes(2_500_000_000), megabytes(1_300_000), megabytes(4_200)
    ('2.5 GB', '1.3 MB', '4.2 kB')
    """
    for size, unit in ((1e9, "GB"), (1e6, "MB")):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number / 1e3:,.1f} kB"


def ordinal(number: int) -> str:
    """A place in a ranking.

    >>> ordinal(2), ordinal(13), ordinal(21)
    ('2nd', '13th', '21st')
    """
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else suffix}"
