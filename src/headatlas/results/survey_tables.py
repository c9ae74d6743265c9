"""Tables of a survey: surface behaviour, dependency relations, coreference, similar heads, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.studies.dependencies import lead_over
from headatlas.tables import (
    BEST_HEAD,
    COUNT,
    NO_EFFECT,
    ONE_HEAD,
    VALUE_INTERVAL,
    Key,
    Table,
    Value,
    interval,
)

if TYPE_CHECKING:
    import pandas as pd

FIGURES = "headatlas.views.figures"
ATTENDS_TO = "What it attends to"

POSITIONS = Table(
    "positions",
    "How much attention goes to the previous, current and next token?",
    (
        *ONE_HEAD,
        Key("offset", "-1 previous, 0 current, 1 next token", "int64", {-1: "previous", 0: "current", 1: "next"}),
        Value("value", "mean attention, 0 to 1; a token without such a neighbour counts with 0", "share"),
        *VALUE_INTERVAL,
        COUNT,
    ),
    section="3.1",
    label="attention to the {offset} token",
    short="{offset} token",
    card=ATTENDS_TO,
    panels=(-1, 1),
    panels_at=2,
    figure=("figure2_positions", f"{FIGURES}.layers:positions_figure"),
)

TO_KIND = {
    "cls": "{cls}",
    "sep": "{sep}",
    "period_comma": "periods and commas",
    "other": "other tokens",
}
TOKEN_KINDS = Table(
    "token_kinds",
    "How much attention goes to [CLS], [SEP], periods and commas, and other tokens? Does [SEP] attend to itself?",
    (
        *ONE_HEAD,
        Key(
            "kind",
            "cls, sep, period_comma, other: to such tokens from all rows (together 1, less what a learned sink "
            "takes); sep_to_sep: from [SEP] rows to [SEP]; other_to_sep: from all other rows to [SEP]",
            labels=TO_KIND | {"sep_to_sep": "{sep}, from {sep}", "other_to_sep": "{sep}, from other tokens"},
            minor=("sep_to_sep", "other_to_sep"),
        ),
        Value("value", "mean attention, 0 to 1", "share"),
        *VALUE_INTERVAL,
        COUNT,
    ),
    section="3.2, figure 2",
    label="attention to {kind}",
    short="{kind}",
    card=ATTENDS_TO,
    panels=("cls", "sep", "period_comma"),
    panels_at=1,
    figure=("figure2_token_kinds", f"{FIGURES}.layers:token_kinds_figure"),
)

ENTROPY = Table(
    "entropy",
    "How broadly does a head attend, from all tokens and from [CLS]?",
    (
        *ONE_HEAD,
        Key(
            "source",
            "all: rows of all tokens; cls: rows of [CLS] alone",
            labels={"cls": "{cls}"},
            usual="all",
            minor=("cls",),
        ),
        Value("nats", "mean entropy of the rows, each scaled to sum 1", "nats"),
        *interval("its 95 % bootstrap interval, over segments", "nats"),
        Value(
            "uniform_nats",
            "entropy of uniform attention to every token the row may attend to",
            "nats",
            why_not="it depends on the length of the text, not on a head",
        ),
        COUNT,
    ),
    section="3.3, figure 4",
    label="entropy[ from {source}] (nats)",
    card=ATTENDS_TO,
    panels=("all",),
    panels_at=3,
    figure=("figure4_entropy", f"{FIGURES}.layers:entropy_figure"),
)

MAX_ATTENTION = Table(  # the paper: "at most 10 % of their attention mass on any single word"
    "max_attention",
    "How much attention goes to the most attended token?",
    (
        *ONE_HEAD,
        Value("value", "mean over rows of the largest weight, 0 to 1", "share"),
        *VALUE_INTERVAL,
        Value(
            "highest",
            "the largest weight in any row of any segment",
            "probability",
            label="largest weight anywhere",
            minor=True,
        ),
        COUNT,
    ),
    section="3.3",
    label="largest weight per row, mean",
    short="largest weight per row",
    card=ATTENDS_TO,
)

GRADIENTS = Table(
    "gradients",
    "Would the loss change if a head attended more to a kind of token?",
    (
        *ONE_HEAD,
        Key("kind", "kind of the token attended to: cls, sep, period_comma, other", labels=TO_KIND),
        Value("value", "mean |dL/da| over pairs of tokens, L a segment's mean loss in nats"),
        *VALUE_INTERVAL,
        COUNT,
    ),
    section="3.2, figure 3",
    label="|dL/da| towards {kind}",
    short="{kind}",
    card="How much the loss depends on it, |dL/da|",
    panels=("sep", "other"),
    panels_at=4,
    figure=("figure3_gradients", f"{FIGURES}.layers:gradients_figure"),
)

RELATION = Key(
    "relation",
    "the treebank's own name; or all: every word, roots never found; all_but_root; all_but_root_punct: nor punctuation",
)
DIRECTION = Key(
    "direction",
    "dependent_to_head or head_to_dependent: which of the two attends",
    labels={"dependent_to_head": "dependent → head", "head_to_dependent": "head → dependent"},
    short={"dependent_to_head": "→", "head_to_dependent": "←"},
)
ACCURACY = Value("accuracy", "share of right choices, 0 to 1", "accuracy")
INTERVAL = interval("the accuracy's 95 % bootstrap interval, for a head chosen beforehand", "accuracy")
HELD_OUT = Value(
    "held_out", "accuracy where the head is chosen on one half of the documents, scored on the other", "accuracy"
)
P_VALUE = "permutation test, with the choice among heads part of it, of the null that no head is better than"
DEPENDENTS = Value("count", "dependents with this relation", "count")
NOT_OF_THE_HEAD = "they are not measures of the best head"

DEPENDENCIES = Table(
    "dependencies",
    "How often does a head find the other end of a dependency, for every relation and direction?",
    (
        RELATION,
        *ONE_HEAD,
        DIRECTION,
        Value("correct", "dependents for which the most attended word is the right one", "count"),
        DEPENDENTS,
        ACCURACY,
        *INTERVAL,
    ),
    section="4.2",
    label="{relation}, {direction}",
    short="{relation} {direction}",
    card=None,
)


def add_lead(best: pd.DataFrame) -> pd.DataFrame:
    """Add how far each relation's best head is above the best fixed offset."""
    return best.assign(lead=lead_over(best["baseline"].to_numpy(float), best["accuracy"].to_numpy(float)))


DEPENDENCY_BEST = Table(
    "dependency_best",
    "Which head is best for each relation, held out, beside the best fixed offset?",
    (
        RELATION,
        DEPENDENTS,
        *BEST_HEAD,
        Value(DIRECTION.name, DIRECTION.about, "text"),
        ACCURACY,
        *INTERVAL,
        HELD_OUT,
        Value(
            "baseline",
            "accuracy of always choosing the word at the best fixed offset",
            "accuracy",
            why_not=NOT_OF_THE_HEAD,
        ),
        Value("baseline_offset", "that offset from the dependent in words, -1 the word before", "place"),
        *interval("the 95 % bootstrap interval of that offset's accuracy", "baseline", "baseline_low", "baseline_high"),
        Value(
            "baseline_held_out",
            "accuracy where the offset is chosen on one half and scored on the other",
            "accuracy",
            why_not=NOT_OF_THE_HEAD,
        ),
        Value("p_value", f"{P_VALUE} the baseline", "probability", why_not=NO_EFFECT),
        Value(
            "control",
            "accuracy of the best head of the same network with random weights; empty if not run",
            "accuracy",
            why_not=NOT_OF_THE_HEAD,
        ),
    ),
    section="4.2, table 1, figure 5",
    prepare=add_lead,
    derived=(Value("lead", "how far the best head is above the best fixed offset, 0 where it is not", "accuracy"),),
)

MENTION_TYPE = Key("mention_type", "all, or by the part of speech of its head word: pronoun, proper, nominal")
CANDIDATES = Key("candidates", "among which the head chooses: words, mentions, or preceding (mentions)")
MENTIONS = Value("count", "mentions of this type that have an antecedent in the window", "count")
CHOSEN_ANTECEDENTS = (
    Value("correct", "mentions whose chosen antecedent is a true one", "count"),
    MENTIONS,
    ACCURACY,
    *INTERVAL,
)

COREFERENCE = Table(
    "coreference",
    "How often does a head find an antecedent, by type of mention?",
    (*ONE_HEAD, MENTION_TYPE, CANDIDATES, *CHOSEN_ANTECEDENTS),
    section="4.3",
    label="antecedent: {mention_type} among {candidates}",
    short="{mention_type} among {candidates}",
    card=None,
)

COREFERENCE_BEST = Table(
    "coreference_best",
    "Which head is best for each type of mention, held out?",
    (
        MENTION_TYPE,
        CANDIDATES,
        MENTIONS,
        *BEST_HEAD,
        ACCURACY,
        *INTERVAL,
        HELD_OUT,
        Value("p_nearest", f"{P_VALUE} the nearest mention", "probability", why_not=NO_EFFECT),
        Value("p_head_match", f"{P_VALUE} the nearest with the same head word", "probability", why_not=NO_EFFECT),
        Value("p_sieves", f"{P_VALUE} the four sieves", "probability", why_not=NO_EFFECT),
    ),
    section="4.3, table 2",
)

COREFERENCE_BASELINES = Table(
    "coreference_baselines",
    "How often do simple rules find an antecedent: nearest mention, same head word, four sieves?",
    (
        Key("baseline", "nearest mention; head_match: nearest with the same head word; sieves: four in order"),
        MENTION_TYPE,
        *CHOSEN_ANTECEDENTS,
    ),
    section="4.3, table 2",
)

PART_OF_PRECISION = "they are parts of the average precision"
KEY_WORDS = "key words: {}[, {{pooling}} of {{rows}} rows]"

KEYPHRASE_HEADS = Table(
    "keyphrase_heads",
    "How much does a head attend to the words of keyphrases, compared with other words?",
    (
        *ONE_HEAD,
        Key(
            "pooling",
            "attention that a token receives: the mean or the max of its column",
            usual="mean",
            minor=("max",),
        ),
        Key(
            "rows",
            "over all rows, or over those of text alone (no special tokens)",
            usual="all",
            minor=("text",),
        ),
        Value(
            "relative_attention",
            "mean received by tokens of keyphrases, less that by other text tokens",
            label=KEY_WORDS.format("relative attention"),
        ),
        *interval("its 95 % bootstrap interval, over documents", "relative_attention", "relative_low", "relative_high"),
        Value(
            "average_precision",
            "of text tokens ranked by what they receive, 0 to 1; mean over documents",
            label=KEY_WORDS.format("average precision"),
        ),
        *interval("its 95 % bootstrap interval, for a head given beforehand", "average_precision"),
        Value(
            "first_half",
            "average precision on one half of the documents, to choose heads on",
            why_not=PART_OF_PRECISION,
        ),
        Value("second_half", "on the other half, to score them on, or vice versa", why_not=PART_OF_PRECISION),
        Value(
            "key_share",
            "share of text tokens in keyphrases: about the average precision of chance",
            "share",
            why_not=PART_OF_PRECISION,
        ),
        Value(
            "cross_entropy",
            "mean surprise, in nats, of key tokens, received attention scaled to sum 1",
            "nats",
            label=KEY_WORDS.format("cross-entropy (nats)"),
        ),
        Value("count", "documents, or windows of them, in the means", "count"),
    ),
    main="average_precision",
    card="Keyphrases",
    figure=("keyphrase_heads", f"{FIGURES}.keyphrases:keyphrase_heads_figure"),
)

DISTANCE_SETTINGS = ("as_published",)

HEAD_DISTANCES = Table(
    "head_distances",
    "How differently do two heads attend, for every pair? (Jensen-Shannon divergence)",
    (
        Key("layer_a", "layer of one head, from 1", "int64"),
        Key("head_a", "that head within its layer, from 1", "int64"),
        Key("layer_b", "layer of the other head, which comes after the first", "int64"),
        Key("head_b", "that head within its layer", "int64"),
        Value(
            "value",
            "Jensen-Shannon divergence of their rows in nats, summed over a segment's tokens, mean over segments",
            "nats",
        ),
        Value(
            "per_token",
            "the same, but the mean over a segment's tokens: 0 to log 2",
            "nats",
            why_not="it is the value in another unit",
        ),
        Value("count", "segments in the mean: those with a token from which both heads attend to something", "count"),
    ),
    section="6",
    same="heads",
    settings=DISTANCE_SETTINGS,
)

HEAD_MAP = Table(
    "head_map",
    "Where do their distances place the heads in the plane, and in which cluster?",
    (
        *ONE_HEAD,
        Value("x", "place in the plane, by multidimensional scaling; empty where a distance is missing"),
        Value("y", "the other coordinate"),
        Value(
            "cluster", "cluster of the head, from 1, by average linkage; 0 if it has no place", "place", dtype="int64"
        ),
    ),
    section="6, figure 6",
    why_not="places in the plane and cluster numbers mean nothing outside their own map",
)

LAYER_DISTANCES = Table(
    "layer_distances",
    "Which layers have similar heads? With a permutation test.",
    (
        Key("layer_a", "one layer, from 1", "int64"),
        Key("layer_b", "the same layer, or one after it", "int64"),
        Value("value", "mean distance of their pairs of heads, as in head_distances", "nats"),
        Value("count", "pairs of heads", "count"),
        Value(
            "p_value",
            "permutation test of the null that heads drawn from all layers are as close",
            "probability",
            why_not=NO_EFFECT,
        ),
        Value("p_adjusted", "the same, adjusted for the number of pairs of layers", "probability", why_not=NO_EFFECT),
    ),
    section="6",
    same="layers",
    settings=DISTANCE_SETTINGS,
)

SIMILARITY = Table(
    "similarity",
    "How far can the map and the clusters be trusted, and do layers matter?",
    (
        Key(
            "measure",
            "stress (Kruskal's stress-1) and disparity (Procrustes', median from other starts) of the map; number "
            "of clusters and their silhouette; within_layers, between_layers: mean distance of heads of one layer, "
            "of two; p_layers: permutation test of their difference; heads_left_out: heads without a place; "
            "share_of_rows: compared, where segments are too long for all",
            not_compared=("clusters", "p_layers", "heads_left_out", "share_of_rows"),
            why_not="they are settings, p-values and counts",
        ),
        Key("distance", "js: the value of head_distances; sqrt_js: its root, a metric"),
        Value("value", "the measure"),
    ),
    section="6",
    settings=DISTANCE_SETTINGS,
)

BEHAVIOURS = Table(
    "behaviours",
    "What does each head do, in a word, with the evidence?",
    (
        *ONE_HEAD,
        Key(
            "label",
            "previous token, next token, [CLS], [SEP], periods and commas, broad, coreference, or a relation",
        ),
        Value(
            "strength",
            "share of attention; broad: of the uniform entropy; relations and coreference: held-out accuracy",
            "share",
        ),
        Value("evidence", "the figures behind the label, in words", "text"),
    ),
    section="6, figure 6",
    card=None,
    why_not="labels are matched instead: table behaviour_matches",
)

SURVEY: dict[str, tuple[Table, ...]] = {
    "positions": (POSITIONS,),
    "token_kinds": (TOKEN_KINDS,),
    "entropy": (ENTROPY,),
    "max_attention": (MAX_ATTENTION,),
    "similarity": (HEAD_DISTANCES, HEAD_MAP, LAYER_DISTANCES, SIMILARITY),
    "gradients": (GRADIENTS,),
    "dependencies": (DEPENDENCIES, DEPENDENCY_BEST),
    "coreference": (COREFERENCE, COREFERENCE_BEST, COREFERENCE_BASELINES),
    "keyphrases": (KEYPHRASE_HEADS,),
}
"""The tables of each study."""
