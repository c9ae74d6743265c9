"""Tables of `headatlas ablate`."""

from __future__ import annotations

from headatlas.results.schemas.columns import EXAMPLES, MEASURE, ONE_HEAD, REMOVED_AS, TASK, Table, interval, table

ABLATION: dict[str, Table] = {
    # Michel et al. 2019, section 3.2
    "ablation": table(
        "the score of a task without each head",
        TASK,
        MEASURE,
        REMOVED_AS,
        *ONE_HEAD,
        ("score", "float64", "mean score over examples without the head"),
        ("change", "float64", "by how much that differs from the score with all heads; below 0: worse without"),
        *interval("the change's 95 % bootstrap interval over examples"),
        ("p_value", "float64", "paired sign-flip test over examples, two-sided, corrected for the heads tried"),
        EXAMPLES,
    ),
    # Michel et al. 2019, section 4.1
    "importance": table(
        "how much the loss of a task depends on each head",
        TASK,
        *ONE_HEAD,
        ("value", "float64", "mean over examples of |dL/dg|, g the head's gate, L the example's loss in nats"),
        *interval("its 95 % bootstrap interval over examples"),
        ("normalised", "float64", "value over the l2 norm of its layer's values"),
        ("first_half", "float64", "the same mean on one half of the examples"),
        ("second_half", "float64", "and on the other"),
        EXAMPLES,
    ),
    # Michel et al. 2019, section 4.2
    "removal_curve": table(
        "the score of a task with more and more heads removed",
        TASK,
        MEASURE,
        (
            "order",
            "str",
            "importance: least important first; remove_one: least harmful alone first; random; "
            "most_important_first; but for random, chosen on one half of the examples and scored on the other",
        ),
        ("share", "float64", "share of all heads removed, 0 to 1"),
        ("heads_removed", "int64", "that many heads"),
        ("score", "float64", "mean score over examples; for random, the mean over several orders"),
        ("low", "float64", "lower end of its 95 % bootstrap interval; for random, the lowest of the orders"),
        ("high", "float64", "its upper end; for random, the highest of the orders"),
        EXAMPLES,
    ),
    "causal": table(
        "does the model need the head found for a relation where the relation holds?",
        ("relation", "str", "the treebank's own name; or coreference: and the type of mention"),
        *ONE_HEAD,
        REMOVED_AS,
        ("change", "float64", "rise of the masked-LM loss, in nats, on words in the relation without the head"),
        ("matched_change", "float64", "the same on words like them that are not in the relation"),
        ("effect", "float64", "change - matched_change"),
        ("control_effect", "float64", "mean effect of removing another head of the same layer instead"),
        ("lead", "float64", "effect - control_effect"),
        *interval("the lead's 95 % bootstrap interval over sentences"),
        ("p_value", "float64", "sign-flip test over sentences of the null that lead is not above 0"),
        ("p_holm", "float64", "the same, corrected for the number of relations"),
        ("count", "int64", "pairs of a word in the relation and one like it"),
        ("sentences", "int64", "sentences that the words in the relation come from"),
        ("controls", "int64", "other heads in control_effect"),
    ),
}
