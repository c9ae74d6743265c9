"""What a person looks at: figures and the page."""
