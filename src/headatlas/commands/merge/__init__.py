"""Combine the shards of a survey, an extraction or an ablation into one folder."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Scale and storage",
    2,
    "merge.report:report_merge",
    printing="shared.printing:FigureOptions",
    arguments="DIR... ",
    resumes=True,
)
