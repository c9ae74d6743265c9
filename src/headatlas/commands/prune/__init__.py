"""Cut heads out of a model's weights and save the smaller model."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Intervene", 2, "prune.report:report_prune")
