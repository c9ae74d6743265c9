"""Write the page of an atlas or a comparison again."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 4, "shared.report:report_page", arguments="DIR ", in_python=False)
