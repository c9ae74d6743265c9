"""`ablate`: score a task with heads removed, to find out which heads the model needs."""
