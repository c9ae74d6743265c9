"""Check that a refactoring changes no number: run the same commands in two checkouts and compare what they write.

    python scripts/compare_checkouts.py REFERENCE [CHECKOUT]     compare; CHECKOUT is this one unless named
    python scripts/compare_checkouts.py CHECKOUT --keep DIR      only run, and keep the results
    python scripts/compare_checkouts.py DIR [CHECKOUT]           compare with results kept earlier
    python scripts/compare_checkouts.py DIR --only probe layers  only these commands and those they read from

Every table, every array (stored maps, kept examples, pruned weights) and every count and summary in a manifest must be
exactly equal; the exit code is 1 if anything differs. Figures, pages, saved states and the wording of what is printed
are not compared. The commands run in the interpreter that runs this script, each in a process with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import safe_open

SURVEY = "--segments 24 --max-tokens 96 --least-count 20 --bootstrap 200 --examples 8 --seed 3 --no-figures"
TRAINING = "--treebank inputs/train.conllu --eval inputs/few.conllu"
READING = "--text inputs/text.txt --treebank inputs/dev.conllu"
CORPORA = f"{READING} --coreference inputs/short.conllu --keyphrases inputs/papers.jsonl"
SCORED = "masked-lm classification --text inputs/text.txt --data inputs/labelled.tsv"
SOME_HEADS = "--heads 1-3 3-9"
PROBES = "--seeds 1 --bootstrap 100 --max-tokens 96 --no-figures"
ABLATE = "--examples 6 --steps 2 --random-orders 1 --bootstrap 100 --max-tokens 48 --no-figures"

# Name of the results: the command that makes them, without --out. results/NAME was made by a command above.
COMMANDS = {
    "demo": "demo",
    "survey": f"survey embedded-mlm {CORPORA} --control fresh {SURVEY}",
    "workers": f"survey embedded-mlm {READING} --workers 2 {SURVEY}",
    "shard-1": f"survey embedded-mlm {CORPORA} --shard 1/2 {SURVEY}",
    "shard-2": f"survey embedded-mlm {CORPORA} --shard 2/2 {SURVEY}",
    "merge": "merge results/shard-1 results/shard-2 --no-figures",
    "random": f"survey embedded {READING} --random-weights fresh {SURVEY}",
    "decoder": "survey embedded-decoder --text inputs/text.txt --segments 4 --max-tokens 48 --no-figures",
    "compare": "compare results/survey results/random --text inputs/text.txt --segments 8 --no-figures",
    "maps-words": "extract embedded --treebank inputs/few.conllu --hidden-states --shard-megabytes 1",
    "maps-dev": "extract embedded --treebank inputs/dev.conllu --sentences 30 --seed 3",
    "maps-tokens": "extract embedded --text inputs/text.txt --segments 10 --max-tokens 64 --dtype-stored float32",
    "survey-maps": "survey --maps results/maps-tokens --bootstrap 200 --examples 8 --no-figures",
    "probe": f"probe embedded {TRAINING} --vectors inputs/vectors.txt --control fresh --control-task --epochs 2 "
    f"{PROBES}",
    "probe-maps": "probe --maps-train results/maps-words --maps-eval results/maps-dev --probes attention --epochs 2 "
    f"{PROBES}",
    "layers": "layers embedded --train inputs/train.conllu --eval inputs/few.conllu --train-limit 60 --eval-limit 30 "
    f"--task pos dependencies arcs coreference --updates 60 {PROBES}",
    "ablate": f"ablate embedded-mlm --task {SCORED} {ABLATE}",
    "pairs": f"ablate embedded-mlm --task minimal-pairs --pairs inputs/pairs.jsonl {SOME_HEADS} --kind mean {ABLATE}",
    "causal": "ablate embedded-mlm --task causal --atlas results/survey --treebank inputs/dev.conllu "
    f"--coreference inputs/short.conllu --words 20 {ABLATE}",
    "ablate-probe": f"ablate embedded --task probe {TRAINING} {SOME_HEADS} {ABLATE}",
    "keyphrases": "keyphrases embedded --train inputs/papers.jsonl --data inputs/other-papers.jsonl --bootstrap 100 "
    "--no-figures",
    "prune-heads": "prune embedded --heads 1-1 2-3 6-12",
    "prune-share": "prune embedded-mlm --by importance --share 0.3 --ablation results/ablate --task masked-lm",
    "pruned": f"survey results/prune-heads --text inputs/text.txt --studies positions entropy similarity {SURVEY}",
    "reproduce": "reproduce clark2019 --model embedded-mlm --wikipedia inputs/text.txt --ptb-train inputs/train.conllu "
    "--ptb-dev inputs/few.conllu --glove inputs/vectors.txt --segments 10 --probe-sentences 40 --probe-seeds 1 "
    "--least-count 20 --bootstrap 100",
    "fit-mlm": "fit-mlm embedded --text inputs/text.txt --tokens 2000 --max-tokens 48 --batch-tokens 512",
}

# Largest difference allowed, by name of the results and table ("probe/probes"), where runs of the same code differ.
TOLERANCES: dict[str, float] = {}
# Columns of tables and keys of manifests that differ from run to run or name a place.
NOT_COMPARED = {"seconds", "file", "files", "started", "finished"}
LINES_PER_FILE = 8


def write_inputs(sample: Path, folder: Path) -> None:
    """Write small corpora of every kind, cut from the embedded sample: `sample` holds sample.txt and sample.conllu."""
    folder.mkdir(parents=True)
    texts = (sample / "sample.txt").read_text(encoding="utf-8").strip().split("\n\n")
    trees = (sample / "sample.conllu").read_text(encoding="utf-8").split("# newdoc")[1:]
    documents = [f"# newdoc{document}".strip().split("\n\n") for document in trees]

    def write(name: str, lines: Iterable[str], between: str = "\n") -> None:
        (folder / name).write_text(between.join(lines) + between, encoding="utf-8")

    write("text.txt", ["\n\n".join(texts[:16])])
    for part, first, last in (("train", 0, 10), ("dev", 10, 22), ("few", 22, 25)):
        write(f"{part}.conllu", chain(*documents[first:last]), "\n\n")
    write("short.conllu", chain(*(sentences[:3] for sentences in documents[:40])), "\n\n")  # needs no cutting
    papers = [
        json.dumps({"text": text.replace("\n", " "), "keyphrases": _noun_phrases(sentences)})
        for text, sentences in zip(texts, documents, strict=True)
    ]
    write("papers.jsonl", papers[:12])
    write("other-papers.jsonl", papers[12:20])

    words = [[row[1] for row in _rows(block)] for block in chain(*documents[30:40])]
    pairs = [{"sentence_good": " ".join(row), "sentence_bad": " ".join(row[1::-1] + row[2:])} for row in words]
    write("pairs.jsonl", map(json.dumps, pairs))
    labelled = (f"{' '.join(row)}\t{'long' if len(row) > 18 else 'short'}" for row in words)
    write("labelled.tsv", chain(["text\tlabel"], labelled))
    vocabulary = sorted({word.lower() for row in words for word in row})
    vectors = np.random.default_rng(0).standard_normal((len(vocabulary), 8)).round(3).tolist()
    write("vectors.txt", (" ".join(map(str, [word, *row])) for word, row in zip(vocabulary, vectors, strict=True)))


def _rows(block: str) -> list[list[str]]:
    return [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]


def _noun_phrases(sentences: list[str]) -> list[str]:
    """The first five pairs of an adjective or noun with the noun after it."""
    rows = [row for block in sentences for row in _rows(block)]
    return [f"{a[1]} {b[1]}" for a, b in pairwise(rows) if a[3] in ("ADJ", "NOUN") and b[3] == "NOUN"][:5]


def sources(name: str) -> set[str]:
    """The commands whose results a command reads."""
    return {word.removeprefix("results/") for word in COMMANDS[name].split() if word.startswith("results/")}


def with_sources(names: list[str]) -> list[str]:
    """The named commands and all whose results they read, in the order in which they can run."""
    wanted = set(names)
    for name in reversed(COMMANDS):
        wanted |= sources(name) if name in wanted else set()
    return [name for name in COMMANDS if name in wanted]


def run_commands(checkout: Path, folder: Path, names: list[str]) -> None:
    """Run commands in a checkout; each writes to folder/results/NAME, and what it prints to folder/printed/NAME.txt."""
    print(f"Running {len(names)} commands of {checkout.resolve()}", flush=True)
    with (checkout / "pyproject.toml").open("rb") as project:
        module, _, function = tomllib.load(project)["project"]["scripts"]["headatlas"].partition(":")
    program = f"from {module} import {function} as run; run()"
    write_inputs(next(checkout.glob("src/**/sample.conllu")).parent, folder / "inputs")
    (folder / "printed").mkdir()
    variables = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "HF_HUB_OFFLINE"), "1")
    variables |= {"PYTHONPATH": str(checkout.resolve() / "src"), "CUDA_VISIBLE_DEVICES": ""}
    started: dict[str, Future[None]] = {}

    def execute(name: str, out: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *COMMANDS[name].split(), "--out", out],
            cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def run(name: str) -> None:
        wait(started[source] for source in sources(name))
        begin = time.monotonic()
        done = execute(name, f"results/{name}")
        (folder / "printed" / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        ending = f"failed: {done.stderr.strip()[-600:]}" if done.returncode else ""
        if ending:  # half-made results are never compared
            shutil.rmtree(folder / "results" / name, ignore_errors=True)
        print(f"  {name:<14}{time.monotonic() - begin:6.1f} s  {ending}", flush=True)

    execute("survey", "compiled")  # loops round otherwise in the process that compiles them than in all later ones
    shutil.rmtree(folder / "compiled", ignore_errors=True)
    with ThreadPoolExecutor(2) as pool:  # no command waits for one further down the table
        for name in names:
            started[name] = pool.submit(run, name)


def compare_values(old: np.ndarray, new: np.ndarray, tolerance: float = 0.0) -> str | None:
    """Say how two arrays differ; NaN equals NaN."""
    if old.dtype != new.dtype:
        return f"{old.dtype} became {new.dtype}"
    if old.shape != new.shape:
        return f"shape {list(old.shape)} became {list(new.shape)}"
    if old.dtype == object:  # where pandas' NA cannot be compared
        old, new = (np.where(pd.isna(values), None, values) for values in (old, new))
    wrong = (old != new) & ~(pd.isna(old) & pd.isna(new))
    if not wrong.any():
        return None
    largest = ""
    if old.dtype.kind in "fiub":
        distance = np.abs(old[wrong].astype(np.float64) - new[wrong].astype(np.float64))
        distance = np.nan_to_num(distance, nan=np.inf)  # a number became NaN, or NaN a number
        if 0 < distance.max() <= tolerance:
            return None
        largest = f", largest difference {distance.max():.3g}"
    return f"{wrong.sum():,} of {wrong.size:,} cells differ{largest}, first at {np.argwhere(wrong)[0].tolist()}"


def compare_tables(old: pd.DataFrame, new: pd.DataFrame, tolerance: float = 0.0) -> Iterator[str]:
    """Say how two tables differ: columns, types, number and order of rows, cells."""
    columns = [str(name) for name in old if name in new and name not in NOT_COMPARED]
    for table, other, word in ((old, new, "missing"), (new, old, "new")):
        yield from (f"column {name} is {word}" for name in table.columns if name not in {*other.columns, *NOT_COMPARED})
    if columns != [name for name in new if name in columns]:
        yield "the order of columns changed"
    keys = [name for name in columns if old[name].dtype.kind != "f"]
    if len(old) != len(new):
        yield f"{len(old):,} rows became {len(new):,}"
        return
    if keys and not old[keys].equals(new[keys]):
        by_key = [table.sort_values(keys, kind="stable", ignore_index=True) for table in (old, new)]
        if by_key[0][keys].equals(by_key[1][keys]):
            yield "the order of rows changed; compared in the order of " + ", ".join(keys)
            old, new = by_key
    for name in columns:
        if old[name].dtype != new[name].dtype:
            yield f"column {name}: {old[name].dtype} became {new[name].dtype}"
        elif difference := compare_values(np.asarray(old[name]), np.asarray(new[name]), tolerance):
            yield f"column {name}: {difference}"


def compare_arrays(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray], tolerance: float) -> Iterator[str]:
    """Say how two sets of named arrays, or of the values in a manifest, differ."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield f"{name} is {'missing' if name in old else 'new'}"
        elif difference := compare_values(old[name], new[name], tolerance):
            single = old[name].size == new[name].size == 1
            yield f"{name}: {f'{old[name].item()} became {new[name].item()}' if single else difference}"


def flatten(value: Any, path: str = "") -> dict[str, np.ndarray]:
    """Values in JSON by path, each as an array of one, without what is not compared."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        parts = [flatten(item, f"{path}.{key}") for key, item in items if key not in NOT_COMPARED]
        return {name: array for part in parts for name, array in part.items()}
    return {path.removeprefix("."): np.array([value], object)}


def read_values(path: Path) -> dict[str, np.ndarray]:
    """The compared parts of a manifest, or the arrays of a safetensors file and the words of the examples in it."""
    if path.suffix == ".json":
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return flatten({part: manifest[part] for part in ("summary", "corpora") if part in manifest})
    with safe_open(path, "np") as file:
        examples = json.loads((file.metadata() or {}).get("examples", "[]"))
        return {name: file.get_tensor(name) for name in file.keys()} | flatten(examples, "examples")  # noqa: SIM118


def compare_files(old: Path, new: Path, tolerance: float) -> Iterator[str]:
    if old.suffix == ".parquet":
        return compare_tables(pd.read_parquet(old), pd.read_parquet(new), tolerance)
    return compare_arrays(read_values(old), read_values(new), tolerance)


def result_files(folder: Path) -> set[Path]:
    """The tables, arrays and manifests below a folder that are compared; a saved state is not a result."""
    files = chain.from_iterable(map(folder.rglob, ("*.parquet", "*.safetensors", "manifest.json")))
    return {path for path in (file.relative_to(folder) for file in files) if "state" not in path.parts}


def compare_results(old: Path, new: Path, name: str) -> int:
    """Print how the results of a command differ, at most a few lines per file; return how many files do."""
    if absent := [who for who, folder in (("reference", old), ("checkout", new)) if not (folder / name).is_dir()]:
        print(f"{name}: not made by the {' and the '.join(absent)}")
        return 1
    before, after = result_files(old / name), result_files(new / name)
    different = {path: ["is missing" if path in before else "is new"] for path in before ^ after}
    for path in before & after:
        tolerance = TOLERANCES.get(f"{name}/{path.stem}", 0.0)
        if lines := list(compare_files(old / name / path, new / name / path, tolerance)):
            different[path] = lines
    print(f"{name}: {len(before | after) - len(different)} of {len(before | after)} files are equal")
    for path, lines in sorted(different.items()):
        print(*(f"    {path}: {line}" for line in lines[:LINES_PER_FILE]), sep="\n")
        if len(lines) > LINES_PER_FILE:
            print(f"    {path}: and {len(lines) - LINES_PER_FILE:,} more differences")
    return len(different)


def main() -> None:
    """Run what must be run, compare, and exit with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path, help="a checkout, or a folder of results made with --keep")
    parser.add_argument("checkout", type=Path, nargs="?", help="the checkout to compare; default: this one")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="only run REFERENCE and keep its results here")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, metavar="NAME", help=", ".join(COMMANDS))
    chosen = parser.parse_args()
    names = with_sources(chosen.only or list(COMMANDS))
    if chosen.keep:
        if chosen.checkout:
            parser.error("--keep runs one checkout and compares nothing: omit the second.")
        run_commands(chosen.reference, chosen.keep, names)
        print(f"Compare with it: python {sys.argv[0]} {chosen.keep} [CHECKOUT]")
        sys.exit(not all((chosen.keep / "results" / name).is_dir() for name in names))
    temporary = Path(tempfile.mkdtemp(prefix="compare-checkouts-"))
    old, new = chosen.reference, temporary / "checkout"
    if (old / "pyproject.toml").exists():
        old = temporary / "reference"
        run_commands(chosen.reference, old, names)
    run_commands(chosen.checkout or Path(__file__).parents[1], new, names)
    different = sum(compare_results(old / "results", new / "results", name) for name in names)
    if different:
        sys.exit(f"{different} files differ. The results are in {temporary}.")
    shutil.rmtree(temporary)
    print("Everything is equal.")


if __name__ == "__main__":
    main()
