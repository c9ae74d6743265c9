"""Measure what each layer of a model encodes, from part of speech to coreference."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Survey", 2, "shared.ending:report_atlas", printing="shared.printing:FigureOptions", resumes=True)
