"""What must be trained: probes that read syntax from attention, words and hidden states, and their controls."""
