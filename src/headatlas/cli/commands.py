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
            "report_demo",
            arguments="",
            resumes=True,
        ),
        "survey": Entry(
            "Run a model over your text once and describe every attention head.",
            "survey.options:survey",
            "report_survey",
            "FigureOptions",
            resumes=True,
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
        ),
    },
    "Train probes": {
        "layers": Entry(
            "Measure what each layer of a model encodes, from part of speech to coreference.",
            "layers.options:layers",
            "report_layers",
            "FigureOptions",
            resumes=True,
        ),
    },
}
