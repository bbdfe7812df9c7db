"""Workers: who answers jobs - this process, several processes, or a Ray cluster."""
