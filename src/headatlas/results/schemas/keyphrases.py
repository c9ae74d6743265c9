"""Tables about keyphrases: of a survey, and of `headatlas keyphrases`."""

from __future__ import annotations

from headatlas.results.schemas.columns import HEAD, LAYER, Table

KEYPHRASES: dict[str, Table] = {
    "keyphrase_heads": Table(
        "how far each head attends to the words of keyphrases",
        (
            LAYER,
            HEAD,
            ("pooling", "str", "attention that a token receives: the mean or the max of its column"),
            ("rows", "str", "over all rows, or over those of text alone (no special tokens)"),
            ("relative_attention", "float64", "mean received by tokens of keyphrases, less that by other text tokens"),
            ("relative_low", "float64", "lower end of its 95 % bootstrap interval, over documents"),
            ("relative_high", "float64", "its upper end"),
            ("average_precision", "float64", "of text tokens ranked by what they receive, 0 to 1; mean over documents"),
            ("low", "float64", "lower end of its 95 % bootstrap interval, for a head given beforehand"),
            ("high", "float64", "its upper end"),
            ("first_half", "float64", "average precision on one half of the documents, to choose heads on"),
            ("second_half", "float64", "and on the other, to score them on, or the other way round"),
            ("key_share", "float64", "share of text tokens in keyphrases: about the average precision of chance"),
            (
                "cross_entropy",
                "float64",
                "mean surprise, in nats, of key tokens, received attention scaled to sum 1",
            ),
            ("count", "int64", "documents, or windows of them, in the means"),
        ),
    ),
}
