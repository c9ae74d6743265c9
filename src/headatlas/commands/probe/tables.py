"""Tables of `headatlas probe`."""

from __future__ import annotations

from headatlas.tables import ONE_HEAD, Key, Table, Value, interval

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
        Value("control_uas", "uas on the control task; empty if not run", "accuracy"),
        Value("selectivity", "uas less control_uas", "accuracy"),
        Value("mdl_bits", "online code length of the training heads; empty if not run", "bits"),
        Value("uniform_bits", "length of the uniform code of the same heads", "bits"),
        Value("held_out_loss", "on held-out training sentences: nats a word, or edges", "nats"),
        Value("epochs", "passes over the training sentences", "count", dtype="Int64"),
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
