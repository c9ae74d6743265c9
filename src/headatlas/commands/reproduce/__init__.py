"""Reproduce "What Does BERT Look At?" from whatever of its inputs you have."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Survey", 4, "reproduce.report:report_reproduce", arguments="PAPER ", resumes=True)
