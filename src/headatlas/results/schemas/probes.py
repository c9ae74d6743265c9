"""Tables of `headatlas probe` and `headatlas layers`."""

from __future__ import annotations

from headatlas.results.schemas.columns import DIRECTION, ONE_HEAD, Table, interval, table

PROBE = ("probe", "str", "as `--probes` names it; structural_distance and structural_depth apart")
PROBED_WEIGHTS = ("weights", "str", "of the network it reads: pretrained or random; empty where it reads none")
PROBE_SEED = ("seed", "Int64", "of its first weights and order; empty where nothing is trained")
SPAN_TASK = (
    "task",
    "str",
    "pos, dependencies, arcs, entities, coreference, relations, or as a file in JSON lines asks",
)
MIXED = ("mix", "str", "what is mixed: layers (hidden states), or heads (attention between the two spans)")
MIXED_WEIGHTS = ("weights", "str", "of the network: pretrained or random")
STATE_LAYER = ("layer", "int64", "0 the embeddings' output; in a mix of heads, 0 means none")
CUMULATIVE = "micro F1 of probes that see layers 0 to this one, 0 to 1, mean over seeds"

PROBES: dict[str, Table] = {
    # paper, section 5, table 3; Hewitt and Manning 2019; Hewitt and Liang 2019; Voita and Titov 2020
    "probes": table(
        "what trained probes read from all heads, from words or from hidden states",
        PROBE,
        PROBED_WEIGHTS,
        ("layer", "Int64", "of hidden states, 0 the embeddings' output; empty where all heads are read"),
        PROBE_SEED,
        ("uas", "float64", "share of words with the right head, each word's likeliest, ROOT and punctuation counted"),
        ("uas_no_punct", "float64", "the same without punctuation"),
        ("uas_tree", "float64", "share of words with the right head in the likeliest tree with one root"),
        ("uas_tree_no_punct", "float64", "the same without punctuation"),
        ("uuas", "float64", "share of the tree's edges in the minimum spanning tree, without punctuation"),
        ("root_accuracy", "float64", "share of sentences whose shallowest word is the root, without punctuation"),
        ("spearman", "float64", "rank correlation of distances or depths, mean over lengths 5 to 50"),
        *interval("the 95 % bootstrap interval of uas_no_punct, uuas or root_accuracy"),
        ("control_uas", "float64", "uas on the control task; empty if not run"),
        ("selectivity", "float64", "uas less control_uas"),
        ("mdl_bits", "float64", "online code length of the training heads; empty if not run"),
        ("uniform_bits", "float64", "length of the uniform code of the same heads"),
        ("held_out_loss", "float64", "on held-out training sentences: nats a word, or edges"),
        ("epochs", "Int64", "passes over the training sentences"),
        ("count", "int64", "words without punctuation, edges, or sentences: the units of low and high"),
    ),
    "probe_relations": table(
        "how often each probe finds the head, by relation",
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        ("relation", "str", "the treebank's own name"),
        ("uas", "float64", "share of words with the right head, each word's likeliest"),
        ("uas_tree", "float64", "share of words with the right head in the likeliest tree"),
        ("count", "int64", "words with this relation"),
        *interval("the 95 % bootstrap interval of uas"),
    ),
    "probe_weights": table(
        "which heads the attention probes use",
        PROBE,
        PROBED_WEIGHTS,
        PROBE_SEED,
        *ONE_HEAD,
        DIRECTION,
        ("weight", "float64", "mean of what the head's attention is multiplied by, over true arcs"),
        (
            "contribution",
            "float64",
            "mean of what the head adds to a true arc's score, less what it adds to other words'",
        ),
    ),
}

LAYERS: dict[str, Table] = {
    # seed slides, after Tenney et al. 2019, figures 2 and A.3
    "layer_mix": table(
        "how much each layer weighs in the mix of a task, and what it adds to the score",
        SPAN_TASK,
        MIXED,
        MIXED_WEIGHTS,
        STATE_LAYER,
        ("weight", "float64", "of the layer in the mix over all layers, mean over seeds; of heads, their sum"),
        *interval("its 95 % interval, seeds resampled", "weight_low", "weight_high"),
        ("cumulative", "float64", CUMULATIVE),
        *interval("its 95 % interval, texts and seeds resampled"),
        ("differential", "float64", "cumulative less that of the layer before; negative where it harms"),
        *interval("its 95 % interval, texts and seeds resampled", "differential_low", "differential_high"),
    ),
    "layer_summary": table(
        "where in the stack each task is solved, and how well",
        SPAN_TASK,
        MIXED,
        MIXED_WEIGHTS,
        ("score", "float64", "micro F1 of the mix of all layers, `Other` and `other` not counted; mean over seeds"),
        *interval("its 95 % interval, texts and seeds resampled"),
        ("accuracy", "float64", "share of targets with all labels right, mean over seeds"),
        ("seed_spread", "float64", "standard deviation of the score over seeds; empty with one"),
        ("centre_of_gravity", "float64", "mean layer under the mixing weights"),
        *interval("its 95 % interval, seeds resampled", "centre_low", "centre_high"),
        ("kl", "float64", "divergence of the mixing weights from equal ones, nats, mean over seeds"),
        ("expected_layer", "float64", "sum of layer x differential / sum of differentials; empty without a gain"),
        *interval("its 95 % interval, texts and seeds resampled", "expected_low", "expected_high"),
        ("expected_clipped", "float64", "the same with negative differentials as 0"),
        *interval("its 95 % interval, texts and seeds resampled", "clipped_low", "clipped_high"),
        ("majority", "float64", "accuracy of always saying the commonest label of the training targets"),
        ("control_accuracy", "float64", "accuracy on the control task; empty if not run"),
        ("selectivity", "float64", "accuracy less control_accuracy"),
        ("mdl_bits", "float64", "online code length of the training labels, mean over seeds; empty if not run"),
        ("uniform_bits", "float64", "length of the uniform code of the same labels"),
        ("labels", "int64", "different labels in training"),
        ("train_targets", "int64", "targets trained on"),
        ("count", "int64", "targets scored"),
        ("unseen", "int64", "of these, targets with a label that training never shows: scored as wrong"),
        ("seeds", "int64", "series of probes"),
        ("epochs", "int64", "passes over the training targets"),
    ),
    "layer_order": table(
        "which task is below which in the stack, and how certain that is",
        ("measure", "str", "centre_of_gravity, expected_layer, or expected_clipped"),
        MIXED,
        ("below", "str", "a task"),
        ("above", "str", "another task, with a larger measure"),
        ("difference", "float64", "of their measures, layers"),
        *interval("its 95 % interval, texts and seeds resampled"),
        ("share", "float64", "of replicates with this order, ties counted half"),
        ("count", "int64", "replicates in which both measures exist"),
    ),
    # seed slides, after Tenney et al. 2019, figure 3
    "layer_examples": table(
        "the targets whose decision changes most between layers, layer by layer",
        SPAN_TASK,
        ("rank", "int64", "from 1, the target that changes most"),
        ("id", "str", "of its text: file, document and text, each from 0"),
        ("text", "str", "its words, spans in [1 ...] and [2 ...]"),
        ("label", "str", "the right one"),
        ("rival", "str", "of the others, that with the largest mean probability over layers"),
        ("movement", "float64", "how far probability less rival_probability moves over the layers, 0 to 2"),
        ("layer", "int64", "probes see layers 0 to this one"),
        ("probability", "float64", "of the right label, mean over seeds"),
        ("rival_probability", "float64", "of the rival"),
    ),
    "head_mix": table(
        "how much each head weighs in the mix that predicts whether two spans are related",
        SPAN_TASK,
        MIXED_WEIGHTS,
        *ONE_HEAD,
        ("direction", "str", "first_to_second or second_to_first: which span attends"),
        ("weight", "float64", "in the mix of all heads in both directions, which sums to 1"),
    ),
}
