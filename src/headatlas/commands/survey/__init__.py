"""`survey`: run a model over corpora once, with all studies, and write an atlas."""
