"""Run the command line as `python -m agentprim`."""

from agentprim.cli.app import main

if __name__ == "__main__":
    main()
