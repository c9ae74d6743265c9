"""The papers' own tables, as data: what was printed, to be shown beside what an atlas finds. Never our figures."""
