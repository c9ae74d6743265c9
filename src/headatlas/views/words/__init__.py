"""Findings, labels and descriptions in sentences."""
