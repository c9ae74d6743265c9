"""Tables of `headatlas probe`."""

from __future__ import annotations

from headatlas.tables import ONE_HEAD, Key, Table, Value, interval, p_value

FIGURES = "headatlas.views.figures.probes"
PROBE = Key("probe", "as `--probes` names it; structural_distance and structural_depth apart")
PROBED_WEIGHTS = Key("weights", "of the network it reads: pretrained or random; empty where it reads none")
PROBE_SEED = Key("seed", "of its first weights and order; empty where nothing is trained", "Int64")

PROBES = Table(  # also Hewitt and Manning 2019; Hewitt and Liang 2019; Voita and Titov 2020
    "probes",
    "How many syntactic heads do trained probes find, with every seed, beside baselines and controls?",
    (
        PROBE,
        PROBED_WEIGHTS,
        Key("layer", "of hidden states, 0 the embeddings' output; empty where all heads are read", "Int64"),
        PROBE_SEED,
        Value("uas", "share of words whose likeliest head is right, ROOT and punctuation counted", "accuracy"),
        Value("uas_no_punct", "the same without punctuation", "accuracy"),
        Value("uas_tree", "share of words with the right head in the likeliest tree with one root", "accuracy"),
        Value("uas_tree_no_punct", "the same without punctuation", "accuracy"),
        Value("uuas", "share of the tree's edges, without direction or punctuation, in the predicted tree", "accuracy"),
        Value("root_accuracy", "share of sentences whose shallowest word is the root, without punctuation", "accuracy"),
        Value("spearman", "rank correlation of distances or depths, mean over lengths 5 to 50"),
        *interval("the 95 % bootstrap interval of uas_no_punct, uuas or root_accuracy", "uas_no_punct"),
        Value(
            "control_uas", "mean uas on control tasks, corrected for how hard they are; empty if not run", "accuracy"
        ),
        Value("control_constant", "mean uas of the best constant answer on these tasks", "accuracy"),
        Value("selectivity", "uas less control_uas", "accuracy"),
        *interval(
            "its 95 % interval, over control tasks and documents (sentences, if few)",
            "selectivity",
            "selectivity_low",
            "selectivity_high",
        ),
        Value("mdl_bits", "online code length of the training heads; empty if not run", "bits"),
        Value("uniform_bits", "length of the uniform code of the same heads", "bits"),
        Value("held_out_loss", "on held-out training sentences: nats a word, or edges", "nats"),
        Value("epochs", "passes over the training sentences", "count", dtype="Int64"),
        Value("at_limit", "whether --epochs ended the training, while the held-out loss still fell", dtype="boolean"),
        Value("count", "words without punctuation, edges, or sentences: the units of low and high", "count"),
    ),
    section="5, table 3",
    figure=("table3_probes", f"{FIGURES}:probe_scores_figure"),
)

PROBE_RELATIONS = Table(
    "probe_relations",
    "How many syntactic heads do trained probes find, by relation?",
    (
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        Key("relation", "the treebank's own name"),
        Value("uas", "share of words with the right head, each word's likeliest", "accuracy"),
        Value("uas_tree", "share of words with the right head in the likeliest tree", "accuracy"),
        Value("count", "words with this relation", "count"),
        *interval("the 95 % bootstrap interval of uas", "uas"),
    ),
    section="5",
)

PROBE_WEIGHTS = Table(
    "probe_weights",
    "Which heads do the attention probes use?",
    (
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        *ONE_HEAD,
        Key("direction", "dependent_to_head or head_to_dependent: which of the two attends"),
        Value("weight", "mean of what the head's attention is multiplied by, over true arcs"),
        Value("contribution", "mean of what the head adds to a true arc's score, less what it adds to other words'"),
    ),
    section="5",
    label="{probe} ({weights} weights, seed {seed}), {direction}: {value}",
    figure=("probe_weights", f"{FIGURES}:probe_weights_figure"),
)

RELATION = Key("relation", "the treebank's own name; at least 20 arcs")
DIRECTION = Key("direction", "dependent_to_head or head_to_dependent: which of the two attends")
WEIGHT = Value("weight", "mean of what the head's attention is multiplied by, over true arcs of the relation")
CONTRIBUTION = Value(
    "contribution", "mean of what the head adds to the relation's arcs, less what it adds to other words"
)

PROBE_RELATION_WEIGHTS = Table(
    "probe_relation_weights",
    "Which heads do the attention probes use for which relation?",
    (PROBE, PROBED_WEIGHTS, PROBE_SEED, RELATION, *ONE_HEAD, DIRECTION, WEIGHT, CONTRIBUTION),
    section="5",
    label="{value} for {relation} in the probe",
    card=None,
)

PROBE_RELATION_HEADS = Table(
    "probe_relation_heads",
    "Which head contributes most to each relation, and does it find the relation by itself?",
    (
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        RELATION,
        Value("layer", "of the head that contributes most", "place"),
        Value("head", "within its layer", "place"),
        Value("direction", "which of the two words attends", "text"),
        WEIGHT,
        Value("mean_weight", "the same over all arcs"),
        CONTRIBUTION,
        Value("mean_contribution", "the same over all arcs"),
        p_value("that it contributes as much to arcs at large: relations permuted over arcs, maximum over heads"),
        p_value("the same, corrected over relations (Holm)", "p_holm"),
        Value("accuracy", "share of the relation's arcs that the head finds alone", "accuracy"),
        Value("offset", "the best fixed offset from the dependent to its head", "place"),
        Value("offset_accuracy", "share of arcs with this offset", "accuracy"),
        Value("lead", "accuracy less offset_accuracy", "accuracy"),
        *interval("its 95 % interval, over documents (sentences, if few)", "lead", "lead_low", "lead_high"),
        p_value("that lead is 0, two-sided", "lead_p"),
        p_value("the same, corrected over relations (Holm)", "lead_p_holm"),
        Value("rank", "of the head by accuracy among all heads in both directions, 1 the best", "place"),
        Value("layer_best", "layer of the head with the highest accuracy", "place"),
        Value("head_best", "that head within its layer", "place"),
        Value("direction_best", "its direction", "text"),
        Value("best_accuracy", "its accuracy, chosen and scored on the same arcs", "accuracy"),
        Value("count", "arcs of the relation", "count"),
        Value("named", "whether p_holm and lead_p_holm are below 0.05 and the lead positive", dtype="boolean"),
    ),
    section="5",
    card=None,
)

PROBE_PAIRS = Table(
    "probe_pairs",
    "How does the probe of attention and words weigh each head for two words?",
    (
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        Key("dependent", "a word of --pair"),
        Key("head_word", "the word that is to be its head"),
        *ONE_HEAD,
        DIRECTION,
        Value("weight", "what the head's attention is multiplied by for these words"),
        Value("mean_weight", "its mean over the true arcs of --eval"),
        Value("share_below", "share of these arcs with a smaller weight", "share"),
    ),
    section="5",
    label="{value} for {dependent} and {head_word} in the probe",
    card=None,
)
