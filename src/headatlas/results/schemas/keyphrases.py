"""Tables about keyphrases: of a survey, and of `headatlas keyphrases`."""

from __future__ import annotations

from headatlas.results.schemas.columns import ONE_HEAD, Table, interval, table

DOCUMENT = ("document", "str", "file and document, by number or its own name")
F1 = ("f1", "float64", "their harmonic mean, 0 to 1")
F1_INTERVAL = (*interval("the 95 % bootstrap interval of f1, over documents"),)

KEYPHRASES: dict[str, Table] = {
    "keyphrase_heads": table(
        "how much each head attends to the words of keyphrases",
        *ONE_HEAD,
        ("pooling", "str", "attention that a token receives: the mean or the max of its column"),
        ("rows", "str", "over all rows, or over those of text alone (no special tokens)"),
        ("relative_attention", "float64", "mean received by tokens of keyphrases, less that by other text tokens"),
        *interval("its 95 % bootstrap interval, over documents", "relative_low", "relative_high"),
        ("average_precision", "float64", "of text tokens ranked by what they receive, 0 to 1; mean over documents"),
        *interval("its 95 % bootstrap interval, for a head given beforehand"),
        ("first_half", "float64", "average precision on one half of the documents, to choose heads on"),
        ("second_half", "float64", "on the other half, to score them on, or vice versa"),
        ("key_share", "float64", "share of text tokens in keyphrases: about the average precision of chance"),
        ("cross_entropy", "float64", "mean surprise, in nats, of key tokens, received attention scaled to sum 1"),
        ("count", "int64", "documents, or windows of them, in the means"),
    ),
    "keyphrases": table(
        "the phrases found in each document by the attention that their words receive",
        DOCUMENT,
        ("rank", "int64", "from 1, the best first"),
        ("phrase", "str", "as it stands where it stands first"),
        ("score", "float64", "sum over its words of what they receive from the chosen heads on average"),
        ("right", "boolean", "whether its stems are those of a given keyphrase; empty where none are given"),
    ),
    "keyphrase_words": table(
        "the first documents word by word, with the weights that their phrases are scored by",
        DOCUMENT,
        ("place", "int64", "of the word in its document, from 0"),
        ("line", "int64", "of the document, from 0"),
        ("word", "str", "as it stands"),
        ("weight", "float64", "attention received from the chosen heads, mean over them; 1 is an even share per token"),
        ("found", "boolean", "whether it belongs to a phrase that was found"),
        ("key", "boolean", "whether it belongs to a given keyphrase; empty where none are given"),
    ),
    "keyphrase_scores": table(
        "how many given keyphrases are found, by attention and by other methods",
        ("method", "str", "heads; tf_idf, text_rank, yake; position: as they stand in the text"),
        ("k", "int64", "number of phrases per document"),
        ("precision", "float64", "share of them that are given, compared by stems; mean over documents"),
        ("recall", "float64", "share of the given ones that are found, also of those not in the text"),
        F1,
        *F1_INTERVAL,
        ("count", "int64", "documents"),
    ),
    "keyphrase_curve": table(
        "how well several heads together recognise the words of keyphrases, on held-out documents",
        ("method", "str", "logistic: regression on the best heads; scalar_mix: one weighted sum of all"),
        ("heads", "int64", "how many of them"),
        ("precision", "float64", "share of the words named that are key, of all documents together"),
        ("recall", "float64", "share of key words that are named"),
        F1,
        *F1_INTERVAL,
        ("count", "int64", "documents"),
    ),
    "keyphrase_weights": table(
        "which heads recognise the words of keyphrases, alone and together",
        *ONE_HEAD,
        ("rank", "int64", "by average precision on the training words, from 1"),
        ("coefficient", "float64", "in the regression on all heads, of standardised logarithms of received attention"),
        ("share", "float64", "in the scalar mix; all sum to 1"),
        ("behaviours", "str", "what the head is known for in the survey named with --atlas"),
    ),
    "keyphrase_taggers": table(
        "how well a model trained end to end tags keyphrases, whole and without its least important heads",
        ("tagger", "str", "whole, or pruned: a tenth of its heads cut out"),
        ("heads", "int64", "heads it has"),
        ("f1", "float64", "of phrases exact in both ends; mean over documents, or windows of them"),
        *F1_INTERVAL,
        ("log_likelihood", "float64", "mean of the right tags, in nats per word"),
        ("count", "int64", "documents, or windows of them"),
    ),
}
