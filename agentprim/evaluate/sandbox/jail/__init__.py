"""The inside of the sandbox: a program of its own that imports nothing of this package."""
