"""Figures, as SVG, PDF or PNG."""
