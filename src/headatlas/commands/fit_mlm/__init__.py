"""Fit a masked language model head, and small LoRA adapters, to an encoder without one."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Intervene", 3, "fit_mlm.report:report_fit", resumes=True)
