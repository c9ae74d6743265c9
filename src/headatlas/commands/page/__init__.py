"""Write the page of an atlas or a comparison again."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 1, "shared.printing:report_page", arguments="DIR ", in_python=False)
