"""Compiled loops for the CPU. Each has a slower twin in torch, which GPUs and other dtypes use."""
