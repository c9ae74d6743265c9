"""Loading models and observing their attention."""
