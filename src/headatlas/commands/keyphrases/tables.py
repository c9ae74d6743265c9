"""Tables of `headatlas keyphrases`."""

from __future__ import annotations

from headatlas.tables import ONE_HEAD, Key, Table, Value, interval

FIGURES = "headatlas.commands.keyphrases.figures"
DOCUMENT = Key("document", "file and document, by number or its own name")
DOCUMENTS = Value("count", "documents", "count")
F1 = Value("f1", "their harmonic mean, 0 to 1")
F1_INTERVAL = interval("the 95 % bootstrap interval of f1, over documents", "f1")

KEYPHRASES = Table(
    "keyphrases",
    "Which phrases were found in each document?",
    (
        DOCUMENT,
        Key("rank", "from 1, the best first", "int64"),
        Value("phrase", "as it stands where it stands first", "text"),
        Value("score", "sum over its words of what they receive from the chosen heads on average"),
        Value("right", "whether its stems are those of a given keyphrase; empty where none are given", dtype="boolean"),
    ),
)

KEYPHRASE_WORDS = Table(
    "keyphrase_words",
    "How much attention does each word of the first documents receive?",
    (
        DOCUMENT,
        Key("place", "of the word in its document, from 0", "int64"),
        Value("line", "of the document, from 0", "place"),
        Value("word", "as it stands", "text"),
        Value("weight", "attention received from the chosen heads, mean over them; 1 is an even share per token"),
        Value("found", "whether it belongs to a phrase that was found", dtype="boolean"),
        Value("key", "whether it belongs to a given keyphrase; empty where none are given", dtype="boolean"),
    ),
)

KEYPHRASE_SCORES = Table(
    "keyphrase_scores",
    "How many given keyphrases are among the first 5, 10 and 15, beside other methods?",
    (
        Key("method", "heads; tf_idf, text_rank, yake; position: as they stand in the text"),
        Key("k", "number of phrases per document", "int64"),
        Value("precision", "share of them that are given, compared by stems; mean over documents", "share"),
        Value("recall", "share of the given ones that are found, also of those not in the text", "share"),
        F1,
        *F1_INTERVAL,
        DOCUMENTS,
    ),
    main="f1",
    figure=("keyphrase_scores", f"{FIGURES}:keyphrase_scores_figure"),
)

KEYPHRASE_CURVE = Table(
    "keyphrase_curve",
    "How well do several heads together tell key words from others?",
    (
        Key("method", "logistic: regression on the best heads; scalar_mix: one weighted sum of all"),
        Key("heads", "how many of them", "int64"),
        Value("precision", "share of the words named that are key, of all documents together", "share"),
        Value("recall", "share of key words that are named", "share"),
        F1,
        *F1_INTERVAL,
        DOCUMENTS,
    ),
    main="f1",
    figure=("keyphrase_curve", f"{FIGURES}:keyphrase_curve_figure"),
)

KEYPHRASE_WEIGHTS = Table(
    "keyphrase_weights",
    "Which heads tell key words from others, and what are those known for?",
    (
        *ONE_HEAD,
        Value("rank", "by average precision on the training words, from 1", dtype="int64"),
        Value("coefficient", "in the regression on all heads, of standardised logarithms of received attention"),
        Value("share", "in the scalar mix; all sum to 1"),
        Value("behaviours", "what the head is known for in the survey named with --atlas", "text"),
    ),
    label="keyphrase weights: {value}",
)

KEYPHRASE_TAGGERS = Table(
    "keyphrase_taggers",
    "How well does a fine-tuned model tag keyphrases, whole and pruned?",
    (
        Key("tagger", "whole, or pruned: a tenth of its heads cut out"),
        Value("heads", "heads it has", "count"),
        Value("f1", "of phrases exact in both ends; mean over documents, or windows of them"),
        *F1_INTERVAL,
        Value("log_likelihood", "mean of the right tags, in nats per word", "nats"),
        Value("count", "documents, or windows of them", "count"),
    ),
)
