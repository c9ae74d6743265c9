"""Combine the shards of a survey, an extraction or an ablation into one folder."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Survey",
    2,
    "merge.report:report_merge",
    printing="shared.printing:FigureOptions",
    arguments="DIR... ",
    resumes=True,
)
