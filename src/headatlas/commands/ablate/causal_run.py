"""The causal test over all relations of an atlas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.commands.ablate.causal import CausalSettings, causal_table, try_relation
from headatlas.commands.ablate.causal_corpora import coreferent_words, dependency_words, open_atlas_of
from headatlas.commands.ablate.matched_words import match_words, word_classes
from headatlas.commands.ablate.passes import Replaying
from headatlas.commands.ablate.settings import FEWEST_PAIRS, AblationSettings
from headatlas.commands.ablate.task_run import NO_TABLES, SIGNIFICANT, Found
from headatlas.commands.ablate.token_prediction import require_language_model
from headatlas.encoding.shards import Shard
from headatlas.engine.pieces import Pieces
from headatlas.engine.progress import TokenProgress
from headatlas.errors import CorpusError
from headatlas.models.model import Model


def run_causal(
    model: Model,
    files: Mapping[str, list[Path]],
    folder: str | Path,
    settings: AblationSettings,
    show_progress: bool,
    pieces: Pieces,
) -> Found:
    """Test every relation that has enough words with a match; the rest are counted."""
    require_language_model(model, "masked", "causal")
    atlas = open_atlas_of(model, folder)
    corpora = []
    if "treebank" in files:
        corpora.append(dependency_words(model, atlas, files["treebank"], settings.treebank_format, settings.max_tokens))
    if "coreference" in files:
        corpora.append(
            coreferent_words(model, atlas, files["coreference"], settings.coreference_format, settings.max_tokens)
        )
    how = CausalSettings(settings.kind, settings.controls, settings.batch_tokens, settings.seed, settings.bootstrap)
    left_out: Counter[str] = Counter()
    rows = []
    replaying = Replaying()
    share = Shard.parse(settings.shard) if settings.shard else None
    for corpus in corpora:
        class_of, usable = word_classes(corpus.segments, corpus.tags), corpus.usable
        left_out.update(corpus.left_out)
        matched = {
            relation.name: match_words(relation, usable, class_of, most=settings.words, seed=settings.seed)
            for relation in corpus.relations
        }
        tested = [relation for relation in corpus.relations if len(matched[relation.name].pairs) >= FEWEST_PAIRS]
        left_out["relation_with_few_matched_words"] += len(corpus.relations) - len(tested)
        total = sum(
            len(corpus.segments[word[0]]) for one in tested for pair in matched[one.name].pairs for word in pair
        )
        with TokenProgress(f"causal: {corpus.name}", total, show=show_progress) as bar:
            for number, relation in enumerate(tested):
                if share is not None and not share.holds(relation.name):
                    continue
                pairs = matched[relation.name]
                left_out["word_without_match"] += pairs.unmatched
                keep = pieces.of(f"{corpus.name}-{number:04}")
                rows.append(try_relation(model, corpus.segments, relation, pairs, how, replaying, keep))
                bar.advance(sum(len(corpus.segments[word[0]]) for pair in pairs.pairs for word in pair), relation.name)
    if share is not None:  # its pieces are kept; the table needs all relations
        return NO_TABLES
    if not rows:
        raise CorpusError(
            f"No relation has {FEWEST_PAIRS} words with a word like them outside it. Give a larger treebank or corpus."
        )
    table = causal_table(rows)
    summary: dict[str, Any] = {
        "relations": len(table),
        "needed": sorted(table.loc[table["p_holm"] < SIGNIFICANT, "relation"]),
    }
    about = {"segments": sum(len(corpus.segments) for corpus in corpora)}
    return Found(
        {"causal": table}, ("treebank", "coreference"), about, {k: n for k, n in left_out.items() if n}, summary
    )
