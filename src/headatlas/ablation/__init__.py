"""Which heads matter: tasks scored with heads removed, and what that says about heads."""
