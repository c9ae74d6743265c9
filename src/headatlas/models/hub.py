"""Names on the Hugging Face hub: is there such a model, and can the hub be reached at all?

Asked once, with a time limit, before transformers asks: it would try a hub that cannot be reached for a minute and
more, with a line for each attempt. What is in the local cache loads without the hub.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from headatlas.errors import ModelError
from headatlas.models.embedded import EMBEDDED

if TYPE_CHECKING:
    from headatlas.models.sources import ModelSource

TIME_LIMIT = 5.0  # seconds for the hub to answer


def ask_hub(source: ModelSource) -> ModelSource:
    """A source on the hub, or its folder in the local cache where the hub does not answer.

    Raises ModelError where it is in neither.
    """
    import huggingface_hub
    from huggingface_hub import constants, errors

    name, revision = source.location, source.arguments["revision"]
    problem = "the hub is not asked, as HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        try:
            huggingface_hub.HfApi().model_info(name, revision=revision, timeout=TIME_LIMIT)
            return source
        except errors.RevisionNotFoundError:
            problem = f"the hub has no revision {revision!r} of it"
        except errors.RepositoryNotFoundError:
            problem = "the hub has no model of this name, or it is private (log in with: hf auth login)"
        except errors.HFValidationError:
            problem = "the hub has no such names"
        except errors.HfHubHTTPError:  # something else than whether it is there: transformers may still get it
            return source
        except Exception:  # which one depends on the package that huggingface_hub asks with
            problem = f"{constants.ENDPOINT} cannot be reached"
    try:
        cached = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except errors.HFValidationError:
        cached = None
    if isinstance(cached, str):
        snapshot = Path(cached).parent  # by its path, as transformers would look for further files on the hub
        return replace(source, location=str(snapshot), arguments={}, record=source.record | {"commit": snapshot.name})
    raise ModelError(
        f"{name}: there is no such folder, {problem}, and the local cache does not hold it. {suggestion(name)}"
    )


def suggestion(name: str) -> str:
    """What to give instead of a name that leads nowhere: the one most like it, else what there is."""
    parent = Path(name).parent
    folders = [str(path.parent) for path in parent.glob("*/config.json")] if parent.is_dir() else []
    if similar := get_close_matches(name, [*EMBEDDED, *folders], n=1):
        return f"Did you mean {similar[0]}?"
    return f"Give a model folder, a hub name or one of: {', '.join(EMBEDDED)}."
