"""The values that options can take, as types.

They live apart from the code that acts on them, so that a command can list its choices without importing torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

AblationKind = Literal["zero", "mean", "resample"]
"""What replaces the output of a removed head: nothing, its mean output, or its output at a sampled token."""

Definitions = Literal["ours", "paper", "code"]
"""How measures are computed: as we define them, as the paper describes them, or as its released code does."""

DeviceMapName = Literal["auto", "balanced", "balanced_low_0", "sequential"]
DeviceMap = str | Mapping[str, str | int]
"""How to divide a large model among devices: one of `DeviceMapName`, or the device of each module by name."""

Dtype = Literal["float32", "bfloat16", "float16", "float64"]
"""Floating-point type of weights and activations."""

FromTokens = Literal["mean", "first", "max"]
"""How the attention from a word follows from that of its tokens."""

LanguageModel = Literal["masked", "causal"]
"""Which tokens a language model predicts: masked ones, or the next."""

Level = Literal["words", "tokens"]
"""Between what stored maps hold attention: words, or tokens of the model."""

NetworkWeights = Literal["pretrained", "random"]
"""Of the network whose maps or states are probed."""

Pooling = Literal["mean", "first"]
"""Which output of an encoder a classifier reads: the mean over all tokens, or the first token."""

PruneBy = Literal["importance", "ablation"]
"""The measure by which the least needed heads are chosen."""

RandomWeights = Literal["fresh", "shuffled"]
"""Which control network: weights drawn anew as before training, or the entries of every matrix shuffled."""

SegmentStyle = Literal["auto", "pair", "single"]
"""Special tokens of a segment: two spans, one span, or two if the tokenizer supports them."""

Stack = Literal["encoder", "decoder", "cross"]
"""Which attention of a model: the encoder's, the decoder's, or from decoder to encoder."""

TableFormat = Literal["terminal", "csv", "markdown", "latex"]
"""How a table is printed."""

TaskHead = Literal["classification", "token-classification", "sequence-to-sequence"]
"""What a model with a task head was trained to do."""
