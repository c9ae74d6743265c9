"""Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 5, "shared.report:report_figures", arguments="DIR ", in_python=False)
