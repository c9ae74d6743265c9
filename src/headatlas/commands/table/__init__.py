"""Print a table of an atlas or a comparison, for the screen or for a paper."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 4, "shared.printing:report_text", arguments="DIR NAME ", in_python=False, light=True)
