"""Tables of `headatlas ablate`."""

from __future__ import annotations

from headatlas.tables import BEST_HEAD, ONE_HEAD, Key, Table, Value, interval, p_value

FIGURES = "headatlas.views.figures.ablation"
TASK = Key("task", "as it is called by --task, for example masked-lm")
SCORES = "log_likelihood, margin (nats), accuracy, f1 (0 to 1), chrf or bleu (0 to 100)"
MEASURE = Key("measure", f"what is scored, higher is better: {SCORES}")
REMOVED_AS = Key("kind", "what stands in for a removed head: zero, its mean output, or resample")
EXAMPLES = Value("count", "examples scored", "count")
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
        *interval("the change's 95 % bootstrap interval over examples", "change"),
        p_value("paired sign-flip test over examples, two-sided, corrected for the heads tried"),
        EXAMPLES,
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
        *interval("its 95 % bootstrap interval over examples", "value"),
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
            "most_important_first; but for random, chosen on one half of the examples and scored on the other",
        ),
        Value("share", "share of all heads removed, 0 to 1", "share"),
        Key("heads_removed", "that many heads", "int64"),
        Value("score", "mean score over examples; for random, the mean over several orders"),
        *interval("its 95 % bootstrap interval; for random, the lowest and highest of the orders", "score"),
        EXAMPLES,
    ),
    figure=("removal_curve", f"{FIGURES}:removal_figure"),
)

CAUSAL = Table(
    "causal",
    "Is the head that was found for a relation needed there, more than elsewhere and more than other heads?",
    (
        Key("relation", "the treebank's own name; or coreference: and the type of mention"),
        *BEST_HEAD,
        REMOVED_AS,
        Value("change", "rise of the masked-LM loss, in nats, on words in the relation without the head", "nats"),
        Value("matched_change", "the same on words like them that are not in the relation", "nats"),
        Value("effect", "change - matched_change", "nats"),
        Value("control_effect", "mean effect of removing another head of the same layer instead", "nats"),
        Value("lead", "effect - control_effect", "nats"),
        *interval("the lead's 95 % bootstrap interval over sentences", "lead"),
        p_value("sign-flip test over sentences of the null that lead is not above 0"),
        p_value("the same, corrected for the number of relations", "p_holm"),
        Value("count", "pairs of a word in the relation and one like it", "count"),
        Value("sentences", "sentences that the words in the relation come from", "count"),
        Value("controls", "other heads in control_effect", "count"),
    ),
    main="lead",
    figure=("causal", f"{FIGURES}:causal_figure"),
)
