"""Tables of `headatlas layers`."""

from __future__ import annotations

from headatlas.tables import ONE_HEAD, Key, Table, Value, interval, p_value

TASK = Key("task", "pos, dependencies, arcs, entities, coreference, relations, or as a file in JSON lines asks")
MIXED = Key("mix", "what is mixed: layers (hidden states), or heads (attention between the two spans)")
WEIGHTS = Key("weights", "of the network: pretrained or random")
RESAMPLED = "its 95 % interval, over trainings and scored texts"
TRAINED = "its 95 % interval, over trainings"

LAYER_MIX = Table(  # after Tenney et al. 2019, figures 2 and A.3
    "layer_mix",
    "How much does each layer weigh in a task on spans, and what does it add?",
    (
        TASK,
        MIXED,
        WEIGHTS,
        Key("layer", "0 the embeddings' output; in a mix of heads, 0 means none", "int64"),
        Value("weight", "of the layer in the mix over all layers, mean over trainings; of heads, their sum", "share"),
        *interval(TRAINED, "weight", "weight_low", "weight_high"),
        Value("cumulative", "micro F1 of probes that see layers 0 to this one, 0 to 1, mean over trainings"),
        *interval(RESAMPLED, "cumulative"),
        Value("differential", "cumulative less that of the layer before; negative where it harms"),
        *interval(RESAMPLED, "differential", "differential_low", "differential_high"),
    ),
)

LAYER_SUMMARY = Table(
    "layer_summary",
    "Where in the stack is each task solved, and how well?",
    (
        TASK,
        MIXED,
        WEIGHTS,
        Value("score", "micro F1 of the mix of all layers, `Other` and `other` not counted; mean over trainings"),
        *interval(RESAMPLED, "score"),
        Value("shuffled_score", "the same with labels permuted over their places, in training and scoring"),
        Value("training_spread", "standard deviation of the score over trainings; empty with one"),
        Value("accuracy", "share of targets with all labels right, mean over trainings", "accuracy"),
        Value("majority", "accuracy of always saying the commonest label of the training targets", "accuracy"),
        Value("lead", "accuracy less majority", "accuracy"),
        *interval(RESAMPLED, "lead", "lead_low", "lead_high"),
        Value("centre_of_gravity", "mean layer under the mixing weights", "layers"),
        *interval(TRAINED, "centre_of_gravity", "centre_low", "centre_high"),
        Value("shuffled_centre", "the same with shuffled labels", "layers"),
        Value("kl", "divergence of the mixing weights from equal ones, nats, mean over trainings", "nats"),
        *interval(TRAINED, "kl", "kl_low", "kl_high"),
        Value("shuffled_kl", "the same with shuffled labels", "nats"),
        p_value("that kl is that of shuffled labels, two-sided, not corrected", "kl_p"),
        Value("expected_layer", "sum of layer x differential / sum of differentials; empty without a gain", "layers"),
        *interval(RESAMPLED, "expected_layer", "expected_low", "expected_high"),
        Value("expected_clipped", "the same with negative differentials as 0", "layers"),
        *interval(RESAMPLED, "expected_clipped", "clipped_low", "clipped_high"),
        Value("control_accuracy", "accuracy on control tasks, one for each training; empty if not run", "accuracy"),
        Value("selectivity", "accuracy less control_accuracy", "accuracy"),
        *interval(RESAMPLED, "selectivity", "selectivity_low", "selectivity_high"),
        Value("mdl_bits", "online code length of the training labels, mean over trainings; empty if not run", "bits"),
        Value("uniform_bits", "length of the uniform code of the same labels", "bits"),
        Value("labels", "different labels in training", "count"),
        Value("train_targets", "targets trained on", "count"),
        Value("count", "targets scored", "count"),
        Value("unseen", "of these, targets with a label that training never shows: scored as wrong", "count"),
        Value("seeds", "trainings", "count"),
        Value("updates", "batches of each training", "count"),
    ),
)

LAYER_ORDER = Table(
    "layer_order",
    "Which task lies below which, which needs fewer layers, and is that settled?",
    (
        Key("measure", "centre_of_gravity, expected_layer, expected_clipped (layers), or kl (nats)"),
        MIXED,
        Key("below", "a task"),
        Key("above", "another task, with a larger measure"),
        Value("difference", "of their measures; empty where no order is given"),
        *interval("its 95 % interval, over trainings and, of the expected layers, scored texts", "difference"),
        p_value("that there is no difference, two-sided"),
        p_value("the same, corrected over all pairs of the measure (Holm)", "p_holm"),
        Value("shuffled_difference", "the same with shuffled labels; empty for the expected layers"),
        *interval(TRAINED, "shuffled_difference", "shuffled_low", "shuffled_high"),
        p_value("of shuffled_difference, two-sided", "shuffled_p"),
        Value("settled", "whether p_holm < 0.05, and not so with shuffled labels", dtype="boolean"),
        Value("shuffled_settled", "whether shuffled labels are: their corrected shuffled_p < 0.05", dtype="boolean"),
        Value("withheld", "why no order is given; empty if it is", "text"),
    ),
)

LAYER_EXAMPLES = Table(  # after Tenney et al. 2019, figure 3
    "layer_examples",
    "For which targets does the prediction change between layers?",
    (
        TASK,
        Key("rank", "from 1, the target that changes most", "int64"),
        Value("id", "of its text: file, document and text, each from 0", "text"),
        Value("text", "its words, spans in [1 ...] and [2 ...]", "text"),
        Value("label", "the right one", "text"),
        Value("rival", "of the others, that with the largest mean probability over layers", "text"),
        Value("movement", "how far probability less rival_probability moves over the layers, 0 to 2"),
        Key("layer", "probes see layers 0 to this one", "int64"),
        Value("probability", "of the right label, mean over trainings", "probability"),
        Value("rival_probability", "of the rival", "probability"),
    ),
)

HEAD_MIX = Table(
    "head_mix",
    "Which heads tell whether two spans are linked?",
    (
        TASK,
        WEIGHTS,
        *ONE_HEAD,
        Key("direction", "first_to_second or second_to_first: which span attends"),
        Value("weight", "in the mix of all heads in both directions, which sums to 1"),
    ),
    label="head mix: {task}, {weights}, {direction}: weight",
)
