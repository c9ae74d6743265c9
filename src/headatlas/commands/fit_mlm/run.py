"""`fit_mlm`: from an encoder and a text to a folder with a head and adapters that `survey` and peft can load."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.fit_mlm.adapter import write_adapter
from headatlas.commands.fit_mlm.base import load_base
from headatlas.commands.fit_mlm.batches import BatchMaker
from headatlas.commands.fit_mlm.corpus import FitCorpus, read_corpus
from headatlas.commands.fit_mlm.network import FitNetwork
from headatlas.commands.fit_mlm.scores import score, unigram_scores
from headatlas.commands.fit_mlm.settings import FitSettings
from headatlas.commands.fit_mlm.state import refuse_other_settings
from headatlas.commands.fit_mlm.training import train
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.corpora.text import TextFormat
from headatlas.encoding.unknown import much_unknown
from headatlas.engine.locking import alone_in_out
from headatlas.errors import AtlasError
from headatlas.files import json_text, make_folder, parse_json, sha256, write_text
from headatlas.models.loading import choose_device
from headatlas.models.model import check_length, longest_input
from headatlas.models.pretrained import require_peft
from headatlas.models.sources import ADAPTER_CONFIG, ADAPTER_WEIGHTS, FIT_RECORD
from headatlas.versions import moment, versions

STATE = "state.safetensors"
SECONDS_BETWEEN_SAVES = 120.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """A fitted folder and its `fit.json`."""

    folder: Path
    record: dict[str, Any]


@alone_in_out("fit-mlm")
def fit_mlm(
    model: str,
    *,
    text: Files,
    out: str | Path,
    tokens: int | None = None,
    epochs: int | None = None,
    max_tokens: int = 128,
    hold_out: int = 1000,
    batch_tokens: int = 2048,
    learning_rate: float = 2e-3,
    rank: int = 16,
    alpha: float = 32,
    freeze: bool = False,
    seed: int = 0,
    device: str = "auto",
    revision: str | None = None,
    text_format: TextFormat = "auto",
    save_every: float = SECONDS_BETWEEN_SAVES,
    force: bool = False,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Fit:
    """Give an encoder a masked language model head, and LoRA adapters so that it can use it.

    >>> fit = fit_mlm("embedded", text="wiki.txt", out="fitted")     # doctest: +SKIP
    >>> fit.record["held_out"]["top1"]                               # doctest: +SKIP
    >>> survey("fitted", text="wiki.txt", out="atlas")               # doctest: +SKIP

    A fit that was stopped continues when called again with the same arguments; one that has finished is opened.
    tokens, epochs: how long to train; by default one epoch.
    hold_out: so many of the text's last lines are for scoring only, at most a tenth of all.
    freeze: leave the encoder as it is and train the head alone.
    force: fit a new head to a model that has one.
    """
    chosen = FitSettings(
        tokens, epochs, max_tokens, hold_out, batch_tokens, learning_rate, rank, alpha, freeze, seed, text_format
    )
    chosen.check()
    files = find_files(text, "text")
    target, folder = choose_device(device), Path(out)
    require_peft()
    base = load_base(model, revision=revision, force=force, trust_remote_code=trust_remote_code)
    check_length(max_tokens, longest_input(base.network, base.tokenizer), model)
    corpus_files = describe_files(files)
    settings = {
        "model": model,
        "weights": base.record["weights_sha256"] or base.record["commit"],
        "corpus": [record["sha256"] for record in corpus_files],
        **asdict(chosen),
    }
    if finished := _already_done(folder, settings):
        return finished
    corpus = read_corpus(
        files,
        base.tokenizer,
        layout=text_format,
        max_tokens=max_tokens,
        hold_out=hold_out,
        vocabulary=base.network.get_input_embeddings().weight.shape[0],
    )
    make_folder(folder)
    record: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": base.record,
        "corpus": _describe(corpus, corpus_files),
        "warnings": _warnings(corpus, model),
        "versions": versions("peft"),
    }
    _write_record(folder, record)
    network = FitNetwork(base.network.to(target), model, rank=rank, alpha=alpha, freeze=freeze, seed=seed)
    network.config.revision = revision
    network.set_bias(corpus.counts)
    maker = BatchMaker(base.tokenizer, corpus.frame)
    held_out = maker.held_out(corpus.held_out, batch_tokens, seed)
    state = train(
        network,
        maker,
        corpus.training,
        held_out,
        total=tokens or (epochs or 1) * corpus.tokens,
        batch_tokens=batch_tokens,
        learning_rate=learning_rate,
        seed=seed,
        state_path=folder / STATE,
        settings=settings,
        save_every=save_every,
        description=f"Fitting {Path(model).name}",
        show_progress=progress,
    )
    record |= {
        "held_out": score(network, held_out).rounded(),
        "held_out_unigram": unigram_scores(corpus.counts, held_out).rounded(),
        "history": state.history,
        "steps": state.step,
        "tokens_seen": state.tokens,
        "training_seconds": round(state.seconds, 1),
        "trained_parameters": sum(parameter.numel() for parameter in network.learning.values()),
    }
    write_adapter(network, folder)
    record |= {
        "adapter_sha256": sha256(folder / ADAPTER_WEIGHTS),
        "finished": moment(),
        "complete": True,
    }
    _write_record(folder, record)
    with suppress(OSError):
        (folder / STATE).unlink()
    return Fit(folder, record)


def _already_done(folder: Path, settings: dict[str, Any]) -> Fit | None:
    """The fit that the folder holds, if it is this very one and finished. Other folders are refused."""
    path = folder / FIT_RECORD
    if not path.exists():
        for name in (ADAPTER_CONFIG, "config.json", "manifest.json"):
            if (folder / name).exists():
                raise AtlasError(f"{folder}: holds something else already ({name}). Choose another --out folder.")
        return None
    try:
        record = dict(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it, or choose another --out folder.") from error
    refuse_other_settings(path, record.get("settings", {}), settings)
    return Fit(folder, record) if record.get("complete") else None


def _describe(corpus: FitCorpus, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "files": files,
        "lines": corpus.lines,
        "lines_held_out": corpus.lines_held_out,
        "segments": len(corpus.training),
        "segments_held_out": len(corpus.held_out),
        "tokens": corpus.tokens,
        "tokens_held_out": sum(map(len, corpus.held_out)),
        "unknown_token_rate": round(corpus.unknown_rate, 5),
        "left_out": {"line_without_tokens": corpus.lines_without_tokens} if corpus.lines_without_tokens else {},
    }


def _warnings(corpus: FitCorpus, model: str) -> list[str]:
    warnings = much_unknown(corpus.unknown_rate, "the text", model, "the head will learn little")
    for warning in warnings:
        _log.warning("%s", warning)
    return warnings


def _write_record(folder: Path, record: dict[str, Any]) -> None:
    write_text(folder / FIT_RECORD, json_text(record, indent=2) + "\n")
