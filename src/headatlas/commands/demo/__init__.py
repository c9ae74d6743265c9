"""Survey a small model on a sample text, both included, to see what you get."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Start here", 1, "shared.ending:report_atlas", arguments="", resumes=True, in_python=False)
