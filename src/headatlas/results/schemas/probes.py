"""Tables of `headatlas probe`."""

from __future__ import annotations

from headatlas.results.schemas.columns import DIRECTION, HEAD, LAYER, Table

PROBE = ("probe", "str", "as `--probes` names it; structural_distance and structural_depth apart")
PROBED_WEIGHTS = ("weights", "str", "of the network it reads: pretrained or random; empty where it reads none")
PROBE_SEED = ("seed", "Int64", "of its first weights and order; empty where nothing is trained")

PROBES: dict[str, Table] = {
    # paper, section 5, table 3; Hewitt and Manning 2019; Hewitt and Liang 2019; Voita and Titov 2020
    "probes": Table(
        "what trained probes make of all heads, of words or of hidden states",
        (
            PROBE,
            PROBED_WEIGHTS,
            ("layer", "Int64", "of hidden states, 0 the embeddings' output; empty where all heads are read"),
            PROBE_SEED,
            (
                "uas",
                "float64",
                "share of words with the right head, each word's likeliest, ROOT and punctuation counted",
            ),
            ("uas_no_punct", "float64", "the same without punctuation"),
            ("uas_tree", "float64", "share of words with the right head in the likeliest tree with one root"),
            ("uas_tree_no_punct", "float64", "the same without punctuation"),
            ("uuas", "float64", "share of the tree's edges in the minimum spanning tree, without punctuation"),
            ("root_accuracy", "float64", "share of sentences whose shallowest word is the root, without punctuation"),
            ("spearman", "float64", "rank correlation of distances or depths, mean over lengths 5 to 50"),
            ("low", "float64", "lower end of the 95 % bootstrap interval of uas_no_punct, uuas or root_accuracy"),
            ("high", "float64", "its upper end"),
            ("control_uas", "float64", "uas on the control task; empty if not run"),
            ("selectivity", "float64", "uas less control_uas"),
            ("mdl_bits", "float64", "online code length of the training heads; empty if not run"),
            ("uniform_bits", "float64", "length of the uniform code of the same heads"),
            ("held_out_loss", "float64", "on held-out training sentences: nats a word, or edges"),
            ("epochs", "Int64", "passes over the training sentences"),
            ("count", "int64", "words that are no punctuation, edges, or sentences: what low and high are about"),
        ),
    ),
    "probe_relations": Table(
        "how often each probe finds the head, by relation",
        (
            PROBE,
            PROBED_WEIGHTS,
            PROBE_SEED,
            ("relation", "str", "the treebank's own name"),
            ("uas", "float64", "share of words with the right head, each word's likeliest"),
            ("uas_tree", "float64", "share of words with the right head in the likeliest tree"),
            ("count", "int64", "words with this relation"),
            ("low", "float64", "lower end of the 95 % bootstrap interval of uas"),
            ("high", "float64", "its upper end"),
        ),
    ),
    "probe_weights": Table(
        "which heads the attention probes use",
        (
            PROBE,
            PROBED_WEIGHTS,
            PROBE_SEED,
            LAYER,
            HEAD,
            DIRECTION,
            ("weight", "float64", "mean of what the head's attention is multiplied by, over true arcs"),
            (
                "contribution",
                "float64",
                "mean of what the head adds to a true arc's score, less what it adds to other words'",
            ),
        ),
    ),
}
