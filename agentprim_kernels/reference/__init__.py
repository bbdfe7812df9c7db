"""The meaning of every op in plain torch: the specification that all other code must meet."""
