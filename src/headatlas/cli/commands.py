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
    "Survey": {
        "keyphrases": Entry(
            "Find the keyphrases of documents by the attention that their words receive.",
            "keyphrases.options:keyphrases",
            "report_keyphrases",
            "DrawingOptions",
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
            "report_layers",
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
}
