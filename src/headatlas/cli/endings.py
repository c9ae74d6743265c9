"""The end of a command: what it found and left out, what it wrote, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.cli.screen import as_warning
from headatlas.commands.fit_mlm.run import Fit
from headatlas.commands.prune.run import PrunedFolder
from headatlas.corpora.files import name_files
from headatlas.manifest import BeforeAndAfter
from headatlas.remote import is_url, send
from headatlas.results.comparison import Comparison
from headatlas.results.folder import Results
from headatlas.results.naming import layers_and_heads, model_named
from headatlas.results.rendering import render
from headatlas.store.reading import Store
from headatlas.store.stored_model import stored_unknown
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.published.views import view_of
from headatlas.views.words.about import corpora_read, left_out, unknown_warning, unknown_warnings
from headatlas.views.words.comparison import comparison_findings, comparison_warnings, models_of, not_compared
from headatlas.views.words.findings import findings
from headatlas.wording import counted, megabytes

_MOST_NAMED = 12
_SHOWN, _SHOWN_PHRASES = 3, 8
_MB = 1e6


def finish(
    results: Results,
    report: Iterable[str],
    *,
    draw: bool,
    write: Callable[..., Path] | None = write_page,
    out: str | Path | None = None,
    next_step: str = "",
) -> None:
    """Print a report, draw the figures, and say what was written and what to do next.

    Args:
        results: The folder to finish.
        report: Lines about its contents.
        draw: Whether to draw figures, and to write the page.
        write: Writes the page of the results, if they have one.
        out: The --out option: figures and page are sent there if it is a URL.
        next_step: A command that people may run next.
    """
    for line in report:
        print(line)
    made = [counted(len(results.tables), "table")]
    page = ""
    if draw:
        made.append(counted(len({path.stem for path in write_figures(results)}), "figure"))
        page = f" Open {write(results)} in a browser." if write else ""
    print(f"\nWrote {results.folder}{os.sep} ({', '.join(made)}).{page}")
    if out is not None and is_url(out):
        send(results.folder, out)
        print(f"Sent to: {out}")
    elif next_step:
        print(f"Next: {next_step}")


def finish_atlas(atlas: Results, draw: bool, out: str | Path | None = None) -> None:
    """Finish a survey, or what was measured of layers."""
    about = atlas.manifest["model"]
    live = draw and "layer_mix" not in atlas.tables and about.get("kind") != "imported maps"
    explore = f"headatlas explore {atlas.folder}    type a text of your own and remove heads"
    finish(atlas, _atlas_report(atlas), draw=draw, out=out, next_step=explore if live else "")


def _atlas_report(atlas: Results) -> Iterator[str]:
    manifest = atlas.manifest
    yield f"\n{_model_and_size(manifest['model'])}, on"
    yield from (f"  {corpus}" for corpus in corpora_read(manifest))
    yield from with_omissions((f"  - {finding}" for finding in findings(atlas.tables)), manifest)


def with_omissions(report: Iterable[str], manifest: Mapping[str, Any]) -> Iterator[str]:
    """Put warnings of unknown tokens before a report, and what was not run or left out after it."""
    yield from map(as_warning, unknown_warnings(manifest))
    yield from report
    for name, reason in manifest.get("studies_skipped", {}).items():
        yield as_warning(f"Not run: {name}: {reason}")
    if omitted := left_out(manifest):
        yield f"Left out: {', '.join(omitted)}"


def comparison_report(comparison: Comparison) -> Iterator[str]:
    """What differs, and what was not compared."""
    manifest = comparison.manifest
    for end, side, name in zip("AB", (manifest["a"], manifest["b"]), models_of(manifest), strict=True):
        yield f"{end}: {name}, {layers_and_heads(side['model'])}"
    yield from map(as_warning, comparison_warnings(manifest))
    yield from (f"  - {finding}" for finding in comparison_findings(comparison))
    yield from not_compared(manifest)


def store_report(store: Store, checked: bool = False) -> Iterator[str]:
    """What a folder of maps holds and what was left out. checked: whether its files match their checksums."""
    index = store.index
    size = megabytes(sum(file.bytes for file in index.files))
    states = f", hidden states of {index.states} numbers" if index.states else ""
    maps = f"maps between {store.level} of {counted(len(store), 'example')}{states}"
    yield f"{model_named(store.model)}: {store.shape}, {maps}, {index.dtype}"
    if checked:
        yield "All files match their checksums."
    yield from map(as_warning, unknown_warning(stored_unknown(store), "the inputs", Path(store.model["name"]).name))
    for about in index.corpora.values():
        yield from (f"Left out: {reason} {number:,}" for reason, number in about["left_out"].items())
    files = counted(len(index.files), "file")
    yield f"\n{'Checked' if checked else 'Wrote'} {store.folder}{os.sep} ({size} in {files})."
    yield f"Next: headatlas survey --maps {store.folder} --out DIR"


def probe_report(results: Results) -> Iterator[str]:
    """The scores of all probes, and how far the treebanks limit them."""
    yield render(view_of(results, "probes"), "terminal").rstrip("\n")
    for name, about in results.manifest["corpora"].items():
        if shared := about.get("also_in_train"):
            yield f"--{name}: {shared:,} of {about['sentences']:,} sentences are also in the training data"
        if unknown := about.get("without_vector", {"words": 0})["words"]:
            yield f"--{name}: {unknown:,} of {about['words']:,} words have no vector"


def pruning_report(pruned: PrunedFolder) -> Iterator[str]:
    """Which heads were cut out, what that saves, and where the model is."""
    manifest = pruned.manifest
    model, removed = manifest["model"], manifest["removed"]
    yield f"\n{model['name']}: {len(removed)} of {sum(model['heads'])} heads cut out ({_list_some(removed)})"
    yield f"  - heads left in each layer: {', '.join(str(len(heads)) for heads in manifest['kept_heads'])}"
    parameters, tensors = manifest["parameters"], manifest["tensor_bytes"]
    yield f"  - parameters: {parameters['before']:,} before, {parameters['after']:,} after"
    predicted = "as" if tensors["after"] == tensors["predicted"] else f"{tensors['predicted'] / _MB:,.1f} MB"
    yield (
        f"  - weights: {_before_and_after(tensors)} ({predicted} predicted); the file has "
        f"{manifest['file_bytes']:,} bytes"
    )
    for part, words in (("attention_blocks", "attention blocks"), ("model", "whole model")):
        speed, memory = manifest["speed"][part], manifest["weights_in_memory"][part]
        yield (
            f"  - {words}: {speed['ratio']:.2f} times the time ({1000 * speed['seconds_before']:.1f} ms before, "
            f"{1000 * speed['seconds_after']:.1f} ms after), {memory['after'] / memory['before']:.2f} of the weights"
        )
    if peak := manifest["peak_memory"]:
        rows, tokens = manifest["measured_on"]["inputs"]
        yield f"  - peak memory of a pass over {rows} x {tokens} tokens: {_before_and_after(peak)}"
    yield f"  - outputs equal those with the heads' gates closed (difference {manifest['difference_from_gating']:.1g})"
    if omitted := left_out(manifest):
        yield f"Left out: {', '.join(omitted)}"
    if unused := model.get("unused_tensors"):
        yield f"Not saved, because {manifest['saved_as']} does not have these tensors: {_list_some(unused)}"
    yield f"\nWrote {pruned.folder}{os.sep} ({manifest['saved_as']})."


def _list_some(names: Sequence[str]) -> str:
    """List the first names and count the rest."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _before_and_after(sizes: BeforeAndAfter) -> str:
    return f"{sizes['before'] / _MB:,.1f} MB before, {sizes['after'] / _MB:,.1f} MB after"


def fit_report(fit: Fit) -> Iterator[str]:
    """How well the head predicts masked tokens, and what to do with it."""
    record = fit.record
    yield (
        f"\n{record['model']['name']}: {record['trained_parameters']:,} weights fitted on {record['tokens_seen']:,} "
        f"tokens in {record['training_seconds']:,.0f} s"
    )
    for label, key in (("fitted", "held_out"), ("unigram", "held_out_unigram")):
        loss, top1, top5 = (record[key][name] for name in ("loss", "top1", "top5"))
        yield f"  {label:8} loss {loss:.3f}, top-1 {100 * top1:.1f} %, top-5 {100 * top5:.1f} %"
    yield f"  on {record['held_out']['masked_tokens']:,} masked tokens of the held-out text"
    for reason, number in record["corpus"]["left_out"].items():
        yield f"Left out: {reason} {number:,}"
    yield f"\nWrote {fit.folder}{os.sep} (the fitted model)."
    yield f"Next: headatlas survey {fit.folder} --text FILE --out DIR"


def ablation_report(results: Results) -> Iterator[str]:
    """What removing heads did to every task."""
    manifest, tables = results.manifest, results.tables
    yield f"\n{_model_and_size(manifest['model'])}, on"
    for task, summary in manifest["summary"].items():
        if task == "causal":
            yield from _causal_findings(tables["causal"], summary)
            continue
        about = manifest["corpora"][task]
        yield f"  {task}: {counted(about['examples'], 'example')} of {name_files(about['files'])}"
        yield from _task_findings(tables["ablation"].query("task == @task"), summary)
        if "removal_curve" in tables:
            yield _curve_finding(tables["removal_curve"].query("task == @task"))


def _task_findings(rows: pd.DataFrame, summary: Mapping[str, Any]) -> Iterator[str]:
    scores = ", ".join(f"{name} {value:.3f}" for name, value in summary["scores"].items())
    yield f"  - with all heads: {scores}"
    worse, better = summary["worse_without"], summary["better_without"]
    yield f"  - of {summary['heads']} heads, {worse} are needed and {better} do harm (p < 0.01, corrected)"
    most = rows[rows["measure"] == rows["measure"].iloc[0]].nsmallest(_SHOWN, "change")
    named = ", ".join(f"{row['layer']}-{row['head']} ({row['change']:+.3f})" for row in most.to_dict("records"))
    yield f"  - largest losses: {named}"
    fall = f"the fall of {summary['harm_measured_by'].replace('_', ' ')} without a head"
    for key, words in (
        ("importance_of_halves", "importance on one half of the examples agrees with that on the other"),
        ("importance_and_harm", f"importance agrees with {fall}"),
    ):
        if summary[key] is not None:
            yield f"  - {words}: Spearman {summary[key]:.2f}"


def _curve_finding(rows: pd.DataFrame) -> str:
    main = rows[rows["measure"] == rows["measure"].iloc[0]]
    share = float(main.loc[main["share"] >= 0.5, "share"].min())
    scores = main[main["share"] == share].set_index("order")["score"]
    listed = ", ".join(f"{str(order).replace('_', ' ')} {score:.3f}" for order, score in scores.items())
    return f"  - with {100 * share:.0f} % of the heads removed, by order: {listed}"


def _causal_findings(table: pd.DataFrame, summary: Mapping[str, Any]) -> Iterator[str]:
    needed = ", ".join(summary["needed"]) or "none"
    yield f"  causal: {summary['relations']} relations"
    yield f"  - relations that need their best head, more than elsewhere and more than other heads: {needed}"
    most = table.nlargest(_SHOWN, "lead")
    named = ", ".join(
        f"{row['relation']} {row['layer']}-{row['head']} ({row['lead']:+.3f} nats)" for row in most.to_dict("records")
    )
    yield f"  - largest leads: {named}"


def keyphrase_report(results: Results) -> Iterator[str]:
    """The heads, the first phrases, and scores beside those of other methods."""
    manifest, tables = results.manifest, results.tables
    chosen = manifest["heads_chosen"]
    how = f"{chosen['pooling']} of {chosen['rows']} rows"
    yield f"\n{model_named(manifest['model'])}: heads {', '.join(chosen['names'])} ({chosen['origin']}); {how}"
    for name, phrases in list(tables["keyphrases"].groupby("document", sort=False))[:_SHOWN]:
        yield f"  {name}: {'; '.join(phrases.nsmallest(_SHOWN_PHRASES, 'rank')['phrase'])}"
    if "keyphrase_scores" in tables:
        scores = tables["keyphrase_scores"]
        yield f"F1 of the first {', '.join(map(str, sorted(scores['k'].unique())))} phrases:"
        for method, rows in scores.groupby("method", sort=False):
            yield f"  {method:<10} {', '.join(map(_f1, rows.itertuples()))}"
    for table, label in (("keyphrase_curve", "words"), ("keyphrase_taggers", "tagger")):
        for row in tables[table].itertuples() if table in tables else ():
            yield f"  {label}, {row[1]}, {row.heads} heads: F1 {_f1(row)}"


def _f1(row: Any) -> str:
    return f"{row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _model_and_size(model: Mapping[str, Any]) -> str:
    return f"{model_named(model)}: {layers_and_heads(model)}"
