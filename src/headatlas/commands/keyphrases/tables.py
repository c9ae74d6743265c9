"""Tables of `headatlas keyphrases`."""

from __future__ import annotations

from headatlas.tables import NO_EFFECT, ONE_HEAD, Key, Table, Value, interval

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
        Value("score", "sum, or mean, over its words of what they receive from the chosen heads on average"),
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

REPORT_WORDS = Key(
    "report_words", "whether words such as propose and results are excluded from candidates: exclude, keep"
)
CUT = Key("k", "number of phrases per document", "int64")

KEYPHRASE_SCORES = Table(
    "keyphrase_scores",
    "How many given keyphrases are among the first 5, 10 and 15, beside other methods and controls?",
    (
        REPORT_WORDS,
        Key(
            "method",
            "heads: the chosen ones; all_heads; random_heads: mean of 20 sets of as many; uniform: even attention; "
            "length: number of words; tf_idf; text_rank; position: as they stand in the text; yake",
        ),
        CUT,
        Value("precision", "share of them that are given, compared by stems; mean over documents", "share"),
        Value("recall", "share of the given ones that are found, also of those not in the text", "share"),
        Value("f1", "their harmonic mean of a document, 0 to 1; mean over documents (macro)"),
        *F1_INTERVAL,
        Value("micro_f1", "F1 of the counts of all documents together"),
        *interval("its 95 % bootstrap interval, over documents", "micro_f1", "micro_low", "micro_high"),
        Value("lowest", "the least f1 of the sets of random heads; empty for other methods"),
        Value("highest", "the largest f1 of the sets of random heads; empty for other methods"),
        DOCUMENTS,
    ),
    main="f1",
    figure=("keyphrase_scores", f"{FIGURES}:keyphrase_scores_figure"),
)

KEYPHRASE_LEADS = Table(
    "keyphrase_leads",
    "By how much do the chosen heads score better than each other method, on the same documents?",
    (
        REPORT_WORDS,
        Key("method", "the other method"),
        CUT,
        Value("lead", "f1 of the heads less that of the method; negative where the heads lose"),
        *interval("its 95 % interval, which holds for all methods at once", "lead", "lead_low", "lead_high"),
        Value("p_value", "two-sided, corrected for all methods", "probability", why_not=NO_EFFECT),
        DOCUMENTS,
    ),
)

LISTS = ("relative_attention", "average_precision", "cross_entropy")
KEYPHRASE_RANKING = Table(
    "keyphrase_ranking",
    "Which heads attend most to the words of keyphrases, and do they beat length and shuffled labels?",
    (
        Key("list", "relative_attention, average_precision, or cross_entropy (the lower the better)"),
        *ONE_HEAD,
        Key("pooling", "what a token receives: the mean or the max of its column"),
        Value("name", "layer, head and pooling in one word, counted from 1", "text"),
        Value("rank", "in the list of this pooling, from 1", "place"),
        Value("value", "mean over documents"),
        *interval("its 95 % bootstrap interval, for a head given beforehand", "value"),
        Value("lead", "by how much it is better than length"),
        *interval("its 95 % interval, which holds for all heads, poolings and lists", "lead", "lead_low", "lead_high"),
        Value("p_value", "of the lead, two-sided, corrected for the same", "probability", why_not=NO_EFFECT),
        Value("length", "what the length of the candidate that a token stands in reaches"),
        Value("shuffled", "what the best head of the list reaches with shuffled labels, in the best of 20 draws"),
        Value("named", "whether it is better than both", dtype="boolean"),
        DOCUMENTS,
    ),
    card=None,
    label="keyphrase ranking: {list}[, {pooling}]",
    figure=("keyphrase_ranking", f"{FIGURES}:keyphrase_ranking_figure"),
)

KEYPHRASE_CURVE = Table(
    "keyphrase_curve",
    "How well do several heads together tell key words from others?",
    (
        Key(
            "method",
            "logistic: regression on the best heads; scalar_mix: one weighted sum of all; random_heads: regression on "
            "heads in random order; every_word: all words named",
        ),
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
