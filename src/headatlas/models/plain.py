"""Which eager functions are plain attention: softmax(q k' scale + mask) v, and nothing else.

Only such a function may be replaced by one of ours, and only if it is known word for word. To compare outputs would not
do: a soft cap changes nothing that shows on random weights.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from torch import Tensor, nn

Scaling = Literal["given", "by width", "by head_dim"]
"""Where the factor of the scores comes from if the caller gives none."""

# Digests of the bodies of functions that were read, and the scaling they use; with the families that have them.
_PLAIN: dict[str, Scaling] = {
    "e66b46eed7f08f22": "given",  # Llama, Mistral, Qwen, ...: keys repeated for the queries of their group
    "87f4a9fe3ee929c8": "given",  # Llama 4
    "798b2ae4ccc4ce3e": "by head_dim",  # Gemma 2 and 3, T5Gemma: plain without a soft cap
    "33d03703645c8edd": "by width",  # BERT, RoBERTa, DistilBERT, ALBERT, ELECTRA, BART, ...
    "8ed9e67ba5d6b714": "given",  # ModernBERT, GPT-NeoX, ...
    "7edaeea68ad804a2": "given",  # OPT, CLIP, ...
    "c6de490ea069d4ea": "given",  # Kosmos-2, ...
    "9049ca9d994a57ca": "by width",  # ViT, ...
    "bbf1d7b565d2b01d": "by width",  # GPT-2
}
_REPEAT = "bf014d4adf697926"  # repeat_kv
_IGNORED = {"position_ids", "sliding_window", "use_cache", "deterministic"}  # a window acts through the mask
_NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def plain_scale(
    function: Callable[..., Any], module: nn.Module, query: Tensor, key: Tensor, named: Mapping[str, Any]
) -> float | None:
    """The factor of the scores if a call of an eager function is plain attention; None if it may be anything else."""
    scaling = _PLAIN.get(code_digest(function) or "")
    repeat = getattr(function, "__globals__", {}).get("repeat_kv")
    if repeat is not None and code_digest(repeat) != _REPEAT:
        return None
    given = {name for name, argument in named.items() if argument is not None}
    if scaling is None or not given <= {"scaling", "dropout", *_IGNORED}:
        return None
    if module.training and named.get("dropout"):
        return None
    if query.shape[1] != key.shape[1] * getattr(module, "num_key_value_groups", 1):
        return None
    scale = named.get("scaling")
    if scale is None and scaling != "given":
        scale = float(query.shape[-1] if scaling == "by width" else getattr(module, "head_dim", 0)) ** -0.5
    return float(scale) if isinstance(scale, int | float) and scale > 0 else None


@cache
def code_digest(function: Callable[..., Any]) -> str | None:
    """The digest of a function's code, without its signature and comments; None if it cannot be read."""
    try:
        return hashlib.sha256(_code(function).encode()).hexdigest()[:16]
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return None


def _code(function: Callable[..., Any]) -> str:
    """The tokens of a function's body, however they are laid out."""
    source = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(source).body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError("not a function")
    first = definition.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        first = definition.body[1]
    body = textwrap.dedent("\n".join(source.splitlines()[first.lineno - 1 :]))
    tokens = tokenize.generate_tokens(io.StringIO(body).readline)
    return " ".join(token.string for token in tokens if token.type not in _NOT_CODE)
