"""Compare two atlases: base and fine-tuned, trained and random, small and large."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 3, "compare.report:report_compare", printing="shared.printing:FigureOptions", arguments="A B ")
