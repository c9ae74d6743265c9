"""What a survey is asked to do, checked before anything long begins: which corpora, whose heads, which studies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from headatlas.corpora.files import Files, find_files
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.studies import STUDIES

NO_HEAD = (
    "{name} has no {kind} head, so the loss that figure 3 differentiates cannot be taken. Survey a checkpoint saved "
    "with its head (for BERT: bert-base-uncased and not a sentence encoder or classifier made from it){fit}."
)


READ_FOLDERS = frozenset({"keyphrases"})


def choose_corpora(given: Mapping[str, Files | None], parse_with: str | None) -> dict[str, list[Path]]:
    """The files of each corpus that is given, all of which exist."""
    files = {
        name: find_files(corpus, name, folders=name in READ_FOLDERS)
        for name, corpus in given.items()
        if corpus is not None
    }
    if not files:
        raise SettingError("There is nothing to survey. Give --text, --treebank, --coreference or --keyphrases FILE.")
    if parse_with is not None:
        if "treebank" in files or "text" not in files:
            problem = "a treebank is given, which needs no parser" if "treebank" in files else "there is no --text"
            raise SettingError(f"--parse-with {parse_with} parses the text of --text, but {problem}.")
        files["treebank"] = files["text"]
    return files


def one_source(**sources: object) -> None:
    """Refuse an extraction that is given no model, maps to import or folder to check, or more than one of them."""
    given = [
        {"model": "MODEL", "imported": "--import", "check": "--check"}[name]
        for name, source in sources.items()
        if source
    ]
    if len(given) != 1:
        problem = f"{' and '.join(given)} exclude each other" if given else "There is no MODEL to extract maps from"
        raise SettingError(f"{problem}. Give a MODEL with --treebank or --text, or --import FILE, or --check DIR.")


def check_control(control: bool, model: str | Model, random_weights: bool, corpora: Collection[str]) -> None:
    """Refuse a control that has nothing to stand beside."""
    if not control:
        return
    if "treebank" not in corpora:
        raise SettingError("--control stands beside the treebank's best heads, but there is no --treebank.")
    if random_weights or not isinstance(model, str):
        problem = "the survey is of random weights already" if random_weights else "it loads the model by its name"
        raise SettingError(f"--control cannot be had: {problem}.")


def check_studies(names: Sequence[str] | None, corpora: Collection[str]) -> None:
    """Refuse studies that do not exist or whose corpus is not given."""
    if names is None:
        return
    if unknown := set(names) - set(STUDIES):
        raise SettingError(f"Unknown study: {', '.join(sorted(unknown))}. There are: {', '.join(STUDIES)}.")
    if not names:
        raise SettingError(f"No study is chosen. There are: {', '.join(STUDIES)}.")
    for name in names:
        if (corpus := STUDIES[name].corpus) not in corpora:
            raise SettingError(f"The study '{name}' cannot run without --{corpus} FILE.")
    for given in corpora:
        if not any(STUDIES[name].corpus == given for name in names):
            raise SettingError(f"--{given} is given, but none of the studies chosen looks at it: {', '.join(names)}.")


def choose_studies(
    model: Model, names: Sequence[str] | None, corpora: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """The studies to run, and why others are not. A study asked for by name is never skipped silently."""
    skipped: dict[str, str] = {}
    reason = why_no_gradients(model) if "text" in corpora else None
    if reason and names is None:
        skipped["gradients"] = reason
    elif reason and "gradients" in (names or ()):
        raise SettingError(f"The study 'gradients' cannot run: {reason}")
    chosen = [
        name
        for name, study in STUDIES.items()
        if study.corpus in corpora and name not in skipped and (names is None or name in names)
    ]
    return chosen, skipped


def why_no_gradients(model: Model) -> str | None:
    """Why no loss can be differentiated, or None where it can."""
    if model.is_encoder_decoder:
        return "an encoder-decoder has no masked or next-token loss of its own; survey an encoder or a decoder."
    if model.language_model is None:
        kind = "masked language model" if "encoder" in model.shapes else "next-token (causal language model)"
        fit = ", or fit one: headatlas fit-mlm" if "encoder" in model.shapes else ""
        fit = ", or embedded-mlm, which is this model with a fitted head" if model.name == "embedded" else fit
        return NO_HEAD.format(name=model.name, kind=kind, fit=fit)
    if model.language_model == "masked" and model.tokenizer.mask_token_id is None:
        return f"the tokenizer of {model.name} has no mask token; save the model with its own tokenizer."
    return None
