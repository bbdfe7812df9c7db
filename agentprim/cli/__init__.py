"""The command line: `agentprim run`, `agentprim demo`, `agentprim info`."""
