"""A readable error for running out of memory."""

from __future__ import annotations

from headatlas.errors import ModelError

REMEDY = "Use a smaller --batch-tokens or --max-tokens, or fewer --workers; finished work is not lost."
_TORCH_SAYS = ("out of memory", "can't allocate memory", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or torch means that memory has run out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _TORCH_SAYS)
    )


def out_of_memory(what: str) -> ModelError:
    """The error to raise instead; `what` says where it happened."""
    return ModelError(f"Out of memory {what}. {REMEDY}")
