"""Run a model over your text once and describe every attention head."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Start here", 2, "shared.ending:report_atlas", printing="shared.printing:FigureOptions", resumes=True)
