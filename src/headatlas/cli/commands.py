"""The commands of the command line, in the panels and the order of `headatlas --help`.

A summary repeats the first line of the command's docstring, so that the overview need not import any command; a test
compares them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One command.

    Attributes:
        summary: What `headatlas --help` says about it.
        function: Module under `headatlas.commands` and function.
        report: Function of `headatlas.cli.reports` that prints the result.
        printing: Class of `headatlas.cli.reports` with the options of the report, which Python callers do not have.
        arguments: The arguments without a flag, for the usage line.
        resumes: Whether the same command resumes after it was stopped.
    """

    summary: str
    function: str
    report: str
    printing: str = "NoOptions"
    arguments: str = "MODEL "
    resumes: bool = False


COMMANDS: dict[str, dict[str, Entry]] = {
    "Start here": {
        "demo": Entry(
            "Survey a small model on a sample text, both included, to see what you get.",
            "demo:demo",
            "report_atlas",
            arguments="",
            resumes=True,
        ),
        "survey": Entry(
            "Run a model over your text once and describe every attention head.",
            "survey.options:survey",
            "report_atlas",
            "FigureOptions",
            resumes=True,
        ),
        "explore": Entry(
            "Type a text in a browser, look at every head, remove heads and watch the predictions change.",
            "explore.options:explore",
            "report_nothing",
            arguments="[MODEL] [ATLAS] ",
        ),
    },
    "Survey": {
        "extract": Entry(
            "Save the attention maps of a model, to survey or probe them later without it.",
            "extract.options:extract",
            "report_extract",
            resumes=True,
        ),
        "merge": Entry(
            "Combine the shards of a survey, an extraction or an ablation into one folder.",
            "merge.options:merge",
            "report_merge",
            "FigureOptions",
            arguments="DIR... ",
            resumes=True,
        ),
        "reproduce": Entry(
            'Reproduce "What Does BERT Look At?" from whatever of its inputs you have.',
            "reproduce.options:reproduce",
            "report_reproduce",
            arguments="PAPER ",
            resumes=True,
        ),
        "keyphrases": Entry(
            "Find the keyphrases of documents by the attention that their words receive.",
            "keyphrases.options:keyphrases",
            "report_keyphrases",
            "DrawingOptions",
            resumes=True,
        ),
    },
    "Train probes": {
        "probe": Entry(
            "Train probes that read syntax from all heads together, and from the hidden states.",
            "probe.options:probe",
            "report_probe",
            "DrawingOptions",
            arguments="[MODEL] ",
            resumes=True,
        ),
        "layers": Entry(
            "Measure what each layer of a model encodes, from part of speech to coreference.",
            "layers.options:layers",
            "report_atlas",
            "FigureOptions",
            resumes=True,
        ),
        "fit-mlm": Entry(
            "Fit a masked language model head, and small LoRA adapters, to an encoder without one.",
            "fit_mlm.options:fit_mlm",
            "report_fit",
            resumes=True,
        ),
    },
    "Intervene": {
        "ablate": Entry(
            "Find out which heads a model needs, by removing them.",
            "ablate.options:ablate",
            "report_ablate",
            "DrawingOptions",
            resumes=True,
        ),
        "prune": Entry(
            "Cut heads out of a model's weights and save the smaller model.",
            "prune.options:prune",
            "report_prune",
        ),
    },
    "Look": {
        "page": Entry(
            "Write the page of an atlas or a comparison again.", "page:page", "report_paths", arguments="DIR "
        ),
        "figures": Entry(
            "Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF.",
            "figures:figures",
            "report_paths",
            arguments="DIR ",
        ),
        "draw": Entry(
            "Draw what heads attend to in a sentence: the darker a line, the more attention.",
            "draw.options:draw",
            "report_draw",
            arguments="MODEL TEXT [PAIR] ",
        ),
        "table": Entry(
            "Print a table of an atlas or a comparison, for the screen or for a paper.",
            "table:table",
            "report_text",
            arguments="DIR NAME ",
        ),
        "compare": Entry(
            "Compare two atlases: base and fine-tuned, trained and random, small and large.",
            "compare.options:compare",
            "report_compare",
            "FigureOptions",
            arguments="A B ",
        ),
        "models": Entry(
            "List the embedded models: real weights that install with pip and need no model hub.",
            "models:models",
            "report_text",
            arguments="",
        ),
    },
}
