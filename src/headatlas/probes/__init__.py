"""What must be trained: probes that read syntax from attention maps, word vectors and hidden states, and their controls."""
