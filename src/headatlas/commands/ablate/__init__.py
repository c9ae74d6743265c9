"""Find out which heads a model needs, by removing them."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Intervene", 1, "ablate.report:report_ablate", printing="shared.printing:FigureOptions", resumes=True)
