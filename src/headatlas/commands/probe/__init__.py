"""Train probes that read syntax from all heads together, and from the hidden states."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Survey",
    1,
    "probe.report:report_probe",
    printing="shared.printing:FigureOptions",
    arguments="[MODEL] ",
    resumes=True,
)
