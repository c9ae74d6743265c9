"""Two atlases side by side: what differs, and which heads of one are heads of the other."""
