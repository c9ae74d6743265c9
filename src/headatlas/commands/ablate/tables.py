"""Tables of `headatlas ablate`."""

from __future__ import annotations

from headatlas.tables import BEST_HEAD, ONE_HEAD, Key, Table, Value, interval, p_value

FIGURES = "headatlas.views.figures.ablation"
TASK = Key("task", "as it is called by --task, for example masked-lm; task:name for a set of --also")
SCORES = "log_likelihood, margin (nats), accuracy, f1 (0 to 1), bleu or chrf (0 to 100)"
MEASURE = Key("measure", f"what is scored, higher is better: {SCORES}")
REMOVED_AS = Key("kind", "what stands in for a removed head: zero, its mean output, or resample")
EXAMPLES = Value("count", "examples scored", "count")
UNIT = "what is resampled: document, or example if the data has fewer than 20 documents"
POWER = "it says what the test can show"
HALF = "it is the value on half of the examples"

ABLATION = Table(  # Michel et al. 2019, section 3.2
    "ablation",
    "How does the score change without each head? With intervals, and p-values corrected for all heads.",
    (
        TASK,
        MEASURE,
        REMOVED_AS,
        *ONE_HEAD,
        Value("score", "mean score over examples without the head"),
        Value("change", "by how much that differs from the score with all heads; below 0: worse without"),
        *interval("the change's 95 % bootstrap interval over units", "change"),
        p_value("studentised bootstrap over units of a mean change of 0, two-sided, corrected for the heads tried"),
        EXAMPLES,
        Value("unit", UNIT, "text"),
        Value("units", "how many of them there are", "count"),
    ),
    label="{task}, {measure}: {value} without the head ({kind})",
    main="change",
    figure=("ablation", f"{FIGURES}:ablation_figure"),
)

IMPORTANCE = Table(  # Michel et al. 2019, section 4.1
    "importance",
    "How much does the loss depend on each head? (from gradients, after Michel et al. 2019)",
    (
        TASK,
        *ONE_HEAD,
        Value("value", "mean over examples of |dL/dg|, g the head's gate, L the example's loss in nats", "nats"),
        *interval("its 95 % bootstrap interval over units, as in ablation", "value"),
        Value("normalised", "value over the l2 norm of its layer", label="importance for {task}, within the layer"),
        Value("first_half", "the same mean on one half of the examples", "nats", why_not=HALF),
        Value("second_half", "and on the other", "nats", why_not=HALF),
        EXAMPLES,
    ),
    label="importance for {task} (nats)",
    figure=("importance", f"{FIGURES}:importance_figure"),
)

REMOVAL_CURVE = Table(  # Michel et al. 2019, section 4.2
    "removal_curve",
    "How does the score fall as more and more heads are removed, in four orders?",
    (
        TASK,
        MEASURE,
        Key(
            "order",
            "importance: least important first; remove_one: least harmful alone first; random; "
            "most_important_first; but for random, chosen on one half of the data and scored on the other",
        ),
        Value("share", "share of all heads removed, 0 to 1", "share"),
        Key("heads_removed", "that many heads", "int64"),
        Value("score", "mean score over examples; for random, the mean over several orders"),
        *interval("its 95 % bootstrap interval; for random, the lowest and highest of the orders", "score"),
        EXAMPLES,
    ),
    figure=("removal_curve", f"{FIGURES}:removal_figure"),
)

REMOVABLE_HEADS = Table(
    "removable_heads",
    "How many heads can be removed before the score falls by a stated amount?",
    (
        TASK,
        MEASURE,
        Key("order", "as in removal_curve"),
        Value(
            "heads_removable",
            "heads removed where the curve first falls by that amount, between its points by a line; "
            "for random, the mean over the orders; empty unless 97.5 % of resamples fall without any head",
            "number",
        ),
        *interval("its 95 % bootstrap interval over units; for random, the range of the orders", "heads_removable"),
        Value("tolerance", "the amount, as a share of what all heads together add to the score", "share"),
        Value("heads", "heads of the model", "count"),
    ),
)

SETS = (Key("set_a", "a task, or task:name for a set of --also"), Key("set_b", "another set of the same task"))
SET_CHANGES = Table(
    "set_changes",
    "How does the score change without each head, on two sets of one task?",
    (
        *SETS,
        MEASURE,
        *ONE_HEAD,
        Value("change_a", "change on set_a, as in ablation"),
        Value("change_b", "change on set_b"),
    ),
    card=None,
    why_not="its numbers are those of ablation",
    figure=("set_changes", f"{FIGURES}:sets_figure"),
)
SET_AGREEMENT = Table(
    "set_agreement",
    "Do the same heads matter on two sets of one task?",
    (
        *SETS,
        MEASURE,
        Value("spearman", "rank correlation over heads of the changes on both sets", "number"),
        *interval("its 95 % interval; heads are resampled", "spearman"),
        Value("pearson", "correlation of the changes themselves", "number"),
        *interval("its 95 % interval; heads are resampled", "pearson", "pearson_low", "pearson_high"),
        Value("null_mean", "mean rank correlation if heads are permuted within their layers", "number"),
        Value("null_high", "95th percentile of these", "number"),
        p_value("the share of permutations with a rank correlation as large, one-sided"),
        p_value("the same, corrected for all pairs of sets and measures", "p_holm"),
        Value(
            "halves", "the same between two halves of set_a, each of half its examples: how far it agrees with itself"
        ),
        Value("count", "heads", "count"),
    ),
)

LABEL_IMPORTANCE = Table(
    "label_importance",
    "Are the heads whose behaviour is known the ones that matter?",
    (
        TASK,
        Key("label", "as in behaviours of the survey; any label: heads that have one at all"),
        Key("measure", "how a head matters: |change| of a score without it, or importance"),
        Value("labelled", "heads with the label", "count"),
        Value("others", "heads without it", "count"),
        Value("mean_labelled", "mean over the heads with the label"),
        Value("mean_others", "mean over the others"),
        Value("lead", "mean_labelled - mean_others"),
        *interval("the 95 % range of lead if labels are permuted within layers", "lead", "null_low", "null_high"),
        p_value("that permutation test, two-sided"),
        p_value("the same, corrected for all labels and measures of the task", "p_holm"),
    ),
)

RELATION = Key("relation", "the treebank's own name; or coreference: and the type of mention")
END = Key("end", "the end of the relation that is hidden and predicted: attending, or attended to")
CAUSAL = Table(
    "causal",
    "Is the head that was found for a relation needed there, more than elsewhere and more than other heads?",
    (
        RELATION,
        END,
        REMOVED_AS,
        *BEST_HEAD,
        Value("direction", "which end attends: dependent_to_head, head_to_dependent, mention_to_antecedent", "text"),
        Value("change", "rise of the masked-LM loss, in nats, on words in the relation without the head", "nats"),
        Value("matched_change", "the same on words like them that are not in the relation", "nats"),
        Value("effect", "change - matched_change", "nats"),
        Value("control_effect", "mean effect of removing another head of the same layer instead, over all", "nats"),
        Value("best_other", "the largest effect of another head of the same layer", "nats"),
        Value("lead", "effect - control_effect", "nats"),
        *interval("the lead's 95 % bootstrap interval over units", "lead"),
        p_value("paired test over units of the null that lead is 0, two-sided"),
        p_value("the same, corrected for all relations and ends", "p_holm"),
        Value("place", "place of the head's effect among all heads of its layer, 1 the largest", "place"),
        Value("heads", "heads of the layer", "count"),
        p_value("place / heads: how likely this place or a better one is for a head drawn from the layer", "p_place"),
        Value("count", "pairs of a word in the relation and one like it", "count"),
        Value("unit", "what is resampled: document, or sentence where there are fewer than 20 documents", "text"),
        Value("units", "how many of them the words in the relation come from", "count"),
        Value("same_input", "share of pairs whose words come from the same input", "share"),
    ),
    main="lead",
    figure=("causal", f"{FIGURES}:causal_figure"),
)

CAUSAL_HEADS = Table(
    "causal_heads",
    "What does removing each head of a layer do to the relation that one of them was found for?",
    (
        RELATION,
        END,
        REMOVED_AS,
        *ONE_HEAD,
        Value("effect", "rise of the loss on words in the relation less that on matched words", "nats"),
    ),
    label="{relation}, {end} hidden: {value} without the head ({kind}, nats)",
    card=None,
)

CAUSAL_PLACES = Table(
    "causal_places",
    "Do the heads found for relations, taken together, stand in front of the other heads of their layers?",
    (
        END,
        REMOVED_AS,
        Value("relations", "relations tested", "count"),
        Value("mean", "mean over relations of place / heads, small if the heads found matter most", "share"),
        Value("expected", "the same for heads drawn at random from the same layers", "share"),
        Value("low", "lower end of the middle 95 % of means with shuffled heads", "share"),
        Value("high", "its upper end", "share"),
        p_value("of a mean as small where heads are shuffled within layers"),
        p_value("the same, corrected for the two ends", "p_holm"),
        Value("smallest", "the smallest p-value that so many relations can reach", "probability", why_not=POWER),
    ),
)
