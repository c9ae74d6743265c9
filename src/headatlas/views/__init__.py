"""Show results: figures, sentences, the page, and published numbers beside ours."""
