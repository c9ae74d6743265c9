"""Save the attention maps of a model, to survey or probe them later without it."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Scale and storage", 1, "extract.report:report_extract", resumes=True)
