"""Tables of `headatlas layers`."""

from __future__ import annotations

from headatlas.results.schemas.columns import HEAD, LAYER, Table

SPAN_TASK = (
    "task",
    "str",
    "pos, dependencies, arcs, entities, coreference, relations, or as a file in JSON lines asks",
)
MIXED = ("mix", "str", "what is mixed: layers (hidden states), or heads (attention between the two spans)")
MIXED_WEIGHTS = ("weights", "str", "of the network: pretrained or random")
STATE_LAYER = ("layer", "int64", "0 the embeddings' output; of a mix of heads, 0 is no head at all")
CUMULATIVE = "micro F1 of probes that see layers 0 to this one, 0 to 1, mean over seeds"

LAYERS: dict[str, Table] = {
    # seed slides, after Tenney et al. 2019, figures 2 and A.3
    "layer_mix": Table(
        "how much each layer weighs in the mix of a task, and what it adds to the score",
        (
            SPAN_TASK,
            MIXED,
            MIXED_WEIGHTS,
            STATE_LAYER,
            ("weight", "float64", "of the layer in the mix over all layers, mean over seeds; of heads, their sum"),
            ("weight_low", "float64", "lower end of its 95 % interval, seeds resampled"),
            ("weight_high", "float64", "its upper end"),
            ("cumulative", "float64", CUMULATIVE),
            ("low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("high", "float64", "its upper end"),
            ("differential", "float64", "cumulative less that of the layer before; negative where it harms"),
            ("differential_low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("differential_high", "float64", "its upper end"),
        ),
    ),
    "layer_summary": Table(
        "where in the stack each task is solved, and how well",
        (
            SPAN_TASK,
            MIXED,
            MIXED_WEIGHTS,
            (
                "score",
                "float64",
                "micro F1 of the mix of all layers, `Other` and `other` not counted; mean over seeds",
            ),
            ("low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("high", "float64", "its upper end"),
            ("accuracy", "float64", "share of targets with all labels right, mean over seeds"),
            ("seed_spread", "float64", "standard deviation of the score over seeds; empty with one"),
            ("centre_of_gravity", "float64", "mean layer under the mixing weights"),
            ("centre_low", "float64", "lower end of its 95 % interval, seeds resampled"),
            ("centre_high", "float64", "its upper end"),
            ("kl", "float64", "divergence of the mixing weights from equal ones, nats, mean over seeds"),
            ("expected_layer", "float64", "sum of layer x differential / sum of differentials; empty without a gain"),
            ("expected_low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("expected_high", "float64", "its upper end"),
            ("expected_clipped", "float64", "the same with negative differentials as 0"),
            ("clipped_low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("clipped_high", "float64", "its upper end"),
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
    ),
    "layer_order": Table(
        "which task lies below which in the stack, and how surely",
        (
            ("measure", "str", "centre_of_gravity, expected_layer, or expected_clipped"),
            MIXED,
            ("below", "str", "a task"),
            ("above", "str", "another, whose measure is larger"),
            ("difference", "float64", "of their measures, layers"),
            ("low", "float64", "lower end of its 95 % interval, texts and seeds resampled"),
            ("high", "float64", "its upper end"),
            ("share", "float64", "of replicates in which it lies so, ties half"),
            ("count", "int64", "replicates in which both measures exist"),
        ),
    ),
    # seed slides, after Tenney et al. 2019, figure 3
    "layer_examples": Table(
        "single targets whose decision moves most between layers, layer by layer",
        (
            SPAN_TASK,
            ("rank", "int64", "from 1, the one that moves most"),
            ("id", "str", "of its text: file, document and text, each from 0"),
            ("text", "str", "its words, spans in [1 ...] and [2 ...]"),
            ("label", "str", "the right one"),
            ("rival", "str", "of the others, that with the largest mean probability over layers"),
            ("movement", "float64", "how far probability less rival_probability moves over the layers, 0 to 2"),
            ("layer", "int64", "probes see layers 0 to this one"),
            ("probability", "float64", "of the right label, mean over seeds"),
            ("rival_probability", "float64", "of the rival"),
        ),
    ),
    "head_mix": Table(
        "how much each head weighs in the mix that tells whether two spans are joined",
        (
            SPAN_TASK,
            MIXED_WEIGHTS,
            LAYER,
            HEAD,
            ("direction", "str", "first_to_second or second_to_first: which span attends"),
            ("weight", "float64", "in the mix of all heads in both directions, which sums to 1"),
        ),
    ),
}
