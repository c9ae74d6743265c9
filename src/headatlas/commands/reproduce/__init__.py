"""`reproduce`: a paper's every table, figure and finding from whatever of its inputs is given, beside the published."""
